package datasets

import (
	"os"

	"golang.org/x/sys/unix"
)

// What the system is told about a mapping is advice, and errors of it are of no
// consequence.

// releasePages gives the memory of the whole pages between two places of a
// mapping back to the system, which reads them from the file again when they are
// needed.
func releasePages(mapping []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from = (from + page - 1) / page * page
	if to = to / page * page; from < to {
		_ = unix.Madvise(mapping[from:to], unix.MADV_DONTNEED)
	}
}

// expectRandom tells the system that what lies around a page that is read will
// not be read next. Else it reads ahead, on some machines megabytes.
func expectRandom(mapping []byte, from, to uint64) {
	_ = unix.Madvise(mapping[from/uint64(os.Getpagesize())*uint64(os.Getpagesize()):to], unix.MADV_RANDOM)
}

// fetchRows begins to read rows of a matrix that starts at offset in a mapping,
// all at once, and does not wait for them. Neighbours come in one piece.
func fetchRows(mapping []byte, offset, stride uint64, rows []int32) {
	page := uint64(os.Getpagesize())
	var from, to uint64
	read := func() {
		if from < to {
			_ = unix.Madvise(mapping[from:to], unix.MADV_WILLNEED)
		}
	}
	for _, i := range rows {
		lo, hi := (offset+uint64(i)*stride)/page*page, offset+uint64(i+1)*stride
		if from < to && lo >= from && lo <= to {
			to = max(to, hi)
			continue
		}
		read()
		from, to = lo, hi
	}
	read()
}
