package filelock

import "golang.org/x/sys/windows"

const taken = windows.ERROR_LOCK_VIOLATION

func lock(fd uintptr) error {
	return windows.LockFileEx(windows.Handle(fd), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
}
