//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncFolder makes renames within a folder durable.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return err
	}
	defer folder.Close()
	// Some file systems cannot sync a folder, and return an error.
	if err := folder.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
