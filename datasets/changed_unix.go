//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package datasets

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lastChange returns when an open file's content or attributes last changed.
// Unlike the time of modification, which any program may set, the system alone
// keeps it.
func lastChange(f *os.File) (time.Time, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return time.Time{}, &os.PathError{Op: "fstat", Path: f.Name(), Err: err}
	}
	return time.Unix(0, stat.Ctim.Nano()), nil
}
