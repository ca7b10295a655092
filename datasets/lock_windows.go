package datasets

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// haveLocks tells whether lockFile works on this system.
const haveLocks = true

// lockFile takes a lock on an open file, which the system frees when the file
// is closed or the process ends, however it ends. With wait it waits for its
// turn; else locked is false where another holds it. The byte that is locked is
// far beyond any file's end: locked bytes cannot be written by others.
func lockFile(f *os.File, wait bool) (locked bool, err error) {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		flags |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncFolder does nothing: Windows has no such call, and keeps renames in its
// journal.
func syncFolder(string) error { return nil }
