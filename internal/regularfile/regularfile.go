// Package regularfile opens files that must be regular. Opening a named pipe waits for
// its other side, and a device may never end.
package regularfile

import (
	"fmt"
	"os"

	"github.com/gcn-layerwise/gcn/internal/memory"
)

// Open opens a regular file for reading. It follows symbolic links. Errors name the
// path. Close the file after use.
func Open(path string) (*os.File, error) {
	if _, err := stat(path); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Read returns the contents of a regular file. It follows symbolic links. Errors name
// the path; they wrap memory.ErrTooLarge if the contents do not fit in memory.
func Read(path string) ([]byte, error) {
	info, err := stat(path)
	if err == nil {
		err = memory.Check(path, info.Size())
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// stat describes a regular file, and refuses all others.
func stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s: a folder, not a regular file", path)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file (%v)", path, info.Mode())
	}
	return info, err
}
