//go:build !(darwin || dragonfly || freebsd || linux || openbsd || solaris || netbsd || windows)

package datasets

import (
	"errors"
	"os"
)

// mapFile is for systems without mmap: stores are read into memory there.
func mapFile(*os.File) ([]byte, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}
