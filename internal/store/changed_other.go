//go:build !unix

package store

import (
	"os"
	"time"
)

// lastChange returns the time of the last modification of an open file. This system
// keeps no other.
func lastChange(f *os.File) (time.Time, error) {
	info, err := f.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
