// Package filelock locks open files. The system frees a lock when the file is
// closed or the process ends, however it ends.
//
//	atomicfile, rundir, datasets
//	        │
//	     filelock
//
// The locks are advisory on Unix: they keep out only those that ask.
package filelock

import "errors"

// ErrLocked is wrapped by Try's error about a file that another holds.
var ErrLocked = errors.New("locked by another process")
