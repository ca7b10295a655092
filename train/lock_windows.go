package train

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lockPath takes the lock file, which the system frees when the file is closed
// or the process ends, however it ends.
func lockPath(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, fmt.Errorf("%s: %w: another process is training in it", path, ErrRunExists)
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// syncFolder does nothing: Windows has no such call, and keeps renames in its
// journal.
func syncFolder(string) error { return nil }
