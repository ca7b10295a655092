//go:build !(darwin || dragonfly || freebsd || linux || openbsd || solaris || netbsd || windows)

package memory

import "errors"

// Spilled is not for this system, which has no mapped files.
func Spilled(string, int) ([]float32, func() error, error) {
	return nil, nil, errors.ErrUnsupported
}
