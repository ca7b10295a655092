package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try locks an open file without waiting. Its error wraps ErrLocked if another open
// file, of this process or another, has the lock.
func Try(f *os.File) error {
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return &os.PathError{Op: "lock", Path: f.Name(), Err: ErrLocked}
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}
