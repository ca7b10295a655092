// Package atomicfile replaces files whole. A reader finds the old contents or the
// new, also after a crash, and after a write to a full disk.
//
//	cmd/gcn, study, study/figure, datasets, internal/reproduce, internal/report,
//	internal/weights, internal/rundir
//	                        │
//	                   atomicfile ─▶ filelock
//
// Contents are written to a part beside the file, which then takes its name. A
// part is locked while it is written. The next writer of the same file takes over the
// part that a killed process left.
package atomicfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/gcn-layerwise/gcn/internal/filelock"
)

// Write makes or replaces the file at path with the output of write. If that fails,
// the old contents stay. A symbolic link stays a link: Write replaces its target.
// Write writes directly to a file that is not regular, such as a pipe or
// /dev/stdout; it does not wait for a reader of a pipe. Errors name the path.
func Write(path string, write func(io.Writer) error) error {
	return WriteFile(path, func(f *os.File) error { return write(f) })
}

// WriteFile is Write for files that are not written from the start to the end:
// write may seek in its file, and read it if it is regular. It must not close it.
func WriteFile(path string, write func(*os.File) error) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil { // no file, or a link without a target
		target = path
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return named(path, writeInto(target, write))
	}
	return named(path, Replace(target, write))
}

// named returns err with path in it.
func named(path string, err error) error {
	if err == nil || strings.Contains(err.Error(), path) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// writeInto writes to a device or a pipe. A pipe without a reader is an error: to wait for one
// may take for ever. Writes to an open pipe wait as usual.
func writeInto(path string, write func(*os.File) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return errors.New("a pipe that no process reads")
	}
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// Replace is WriteFile for a regular file, or none. It follows no link: it replaces a link of
// that name.
func Replace(path string, write func(*os.File) error) (err error) {
	defer func() { err = named(path, err) }()
	part, err := createPart(path)
	if err != nil {
		return err
	}
	defer part.Close() // the lock holds until the part has its name
	if err = write(part); err == nil {
		err = part.Sync()
	}
	if !filelock.InPlace(part) { // the folder was moved, and there may be another writer's part
		return cmp.Or(err, fmt.Errorf("%s was moved, removed or replaced: %w", part.Name(), os.ErrNotExist))
	}
	if runtime.GOOS == "windows" { // it cannot rename or remove an open file
		err = errors.Join(err, part.Close())
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
		return err
	}
	if folder, err := os.Open(filepath.Dir(path)); err == nil {
		folder.Sync() // makes the new name durable; some file systems cannot
		folder.Close()
	}
	return nil
}

// createPart makes and locks a part of a file, which has several parts while several processes
// write it. It takes over the part of a process that has ended. On a file system without locks,
// two processes must not write one file at once.
func createPart(path string) (*os.File, error) {
	first := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	for part, k := first, 1; k < 10000; part, k = fmt.Sprint(first, k), k+1 {
		if info, err := os.Lstat(part); err == nil && !info.Mode().IsRegular() {
			os.Remove(part) // a link or a device, not a part
		}
		file, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if !errors.Is(filelock.Try(file), filelock.ErrLocked) {
			return file, file.Truncate(0)
		}
		file.Close() // another writer has it, or has renamed it before it was locked
	}
	return nil, errors.New("too many processes are writing this file")
}
