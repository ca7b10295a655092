package datasets

import (
	"os"

	"golang.org/x/sys/unix"
)

// releasePages gives the memory of the whole pages between two places of a
// mapping back to the system, which reads them from the file again when they are
// needed.
func releasePages(mapping []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from = (from + page - 1) / page * page
	if to = to / page * page; from < to {
		_ = unix.Madvise(mapping[from:to], unix.MADV_DONTNEED) // advice may be ignored
	}
}
