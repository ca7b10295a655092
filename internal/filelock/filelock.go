// Package filelock locks open files. The system frees a lock when the file is
// closed or the process ends for any reason.
//
//	atomicfile, rundir, fetch, reproduce, serve
//	        │
//	     filelock
//
// On Unix the locks are advisory: they do not stop programs that do not lock.
package filelock

import (
	"errors"
	"os"
)

// ErrLocked is wrapped by the error of Try if another open file has the lock.
var ErrLocked = errors.New("locked by another process")

// Try locks an open file without waiting. Its error wraps ErrLocked if another open file, of
// this process or another, has the lock, or has taken the path of this one meanwhile. A file
// system without locks gives no error: it serves one process.
func Try(f *os.File) error {
	err := lock(f.Fd())
	if err == taken || err == nil && !InPlace(f) {
		err = ErrLocked
	}
	if err == nil || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
}

// InPlace reports whether an open file is still the one at the path at which it was opened.
func InPlace(f *os.File) bool {
	ours, err := f.Stat()
	there, missing := os.Lstat(f.Name())
	return err == nil && missing == nil && os.SameFile(ours, there)
}
