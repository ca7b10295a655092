package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeAtomically creates the file at path through a temporary one beside it,
// which write fills. The file is there whole or not at all, even if the process
// is killed or the machine stops; what was there before stays until then.
// Temporary files that killed processes left are removed.
func writeAtomically(path string, write func(f *os.File) error) (err error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	removeStale(dir, name)
	f, err := os.CreateTemp(dir, temporaryPattern(name))
	if err != nil {
		return fmt.Errorf("datasets: %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close() // closed already, or what was written is of no use
			os.Remove(f.Name())
		}
	}()
	if _, err := lockFile(f, true); err != nil {
		return fmt.Errorf("datasets: %s: %w", f.Name(), err)
	}
	if err := write(f); err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("datasets: %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	if err := syncFolder(dir); err != nil {
		return fmt.Errorf("datasets: %w", err)
	}
	return nil
}

func temporaryPattern(name string) string { return "." + name + ".*.tmp" }

// removeStale removes temporary files that nobody holds a lock on.
func removeStale(dir, name string) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), temporaryPattern(escapeGlob(name))))
	if err != nil {
		return // a name that Glob cannot take: they stay
	}
	for _, path := range paths {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if locked, err := lockFile(f, false); locked && err == nil {
			os.Remove(path)
		}
		f.Close()
	}
}

// escapeGlob makes Glob take a name literally.
func escapeGlob(name string) string {
	var b []byte
	for _, c := range []byte(name) {
		switch c {
		case '*', '?', '[':
			b = append(b, '[', c, ']')
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// isMissing tells whether nothing is at path.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
