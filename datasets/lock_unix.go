//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datasets

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// haveLocks tells whether lockFile works on this system.
const haveLocks = true

// lockFile takes a lock on an open file, which the system frees when the file
// is closed or the process ends, however it ends. With wait it waits for its
// turn; else locked is false where another holds it.
func lockFile(f *os.File, wait bool) (locked bool, err error) {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err = unix.Flock(int(f.Fd()), how)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// syncFolder makes renames within a folder durable.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	// Some file systems cannot sync a folder, and say so.
	if err := folder.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
