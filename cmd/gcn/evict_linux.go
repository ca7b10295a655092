package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// evictFile removes a file's pages from the system's cache, except those that are mapped and
// in use.
func evictFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	err = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	if err != nil {
		err = fmt.Errorf("%s: it stays in the system's cache: %w", path, err)
	}
	return errors.Join(err, f.Close())
}
