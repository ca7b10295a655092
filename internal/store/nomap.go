//go:build !(darwin || dragonfly || freebsd || linux || openbsd || solaris || netbsd || windows)

package store

import (
	"errors"
	"os"
)

// mapFile returns errors.ErrUnsupported: this system has no mmap, so that stores are
// read into memory.
func mapFile(*os.File) ([]byte, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}
