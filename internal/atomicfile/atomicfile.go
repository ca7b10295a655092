package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes the file at path, or replaces it, with what write writes. If that
// fails, what was there before stays. A symbolic link stays one: its target is
// replaced. What is no regular file, such as a pipe or /dev/stdout, is written
// as it stands. Errors name the path.
func Write(path string, write func(io.Writer) error) (err error) {
	defer func() {
		var named *fs.PathError
		if err != nil && !errors.As(err, &named) {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	target, err := filepath.EvalSymlinks(path)
	if err != nil { // nothing there, or a link to nothing
		target = path
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return writeInto(target, write)
	}
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // gone already if all goes well
	if err := errors.Join(write(file), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}

func writeInto(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
