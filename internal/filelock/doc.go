// Package filelock locks open files. The system frees a lock when the file is
// closed or the process ends for any reason.
//
//	atomicfile, rundir, datasets, reproduce
//	        │
//	     filelock
//
// On Unix the locks are advisory: they do not stop programs that do not lock.
package filelock

import "errors"

// ErrLocked is wrapped by the error of Try if another open file has the lock.
var ErrLocked = errors.New("locked by another process")
