package datasets

import (
	"os"

	"golang.org/x/sys/unix"
)

// The calls below give the system advice about a mapping. Their errors do not
// matter.

// releasePages gives the memory of the whole pages of mapping[from:to] back to the
// system. The system reads them from the file again on the next access.
func releasePages(mapping []byte, from, to uint64) {
	page := uint64(os.Getpagesize())
	from = (from + page - 1) / page * page
	if to = to / page * page; from < to {
		_ = unix.Madvise(mapping[from:to], unix.MADV_DONTNEED)
	}
}

// expectRandom turns off reading ahead in mapping[from:to]. Otherwise the system
// reads the neighbours of each page too, on some machines megabytes.
func expectRandom(mapping []byte, from, to uint64) {
	_ = unix.Madvise(mapping[from/uint64(os.Getpagesize())*uint64(os.Getpagesize()):to], unix.MADV_RANDOM)
}

// fetchRows starts to read rows of a matrix in a mapping, and does not wait for them. place
// returns the bytes of a row. Neighbouring rows are one request.
func fetchRows(mapping []byte, rows []int32, place func(row int32) (from, to uint64)) {
	eachRun(mapping, rows, place, func(run []byte) { _ = unix.Madvise(run, unix.MADV_WILLNEED) })
}

// loadRows reads rows of a matrix in a mapping, all at a time, and waits for them. The wait is
// a call of the system, not a page fault: other goroutines can use the processor.
func loadRows(mapping []byte, rows []int32, place func(row int32) (from, to uint64)) {
	fetchRows(mapping, rows, place)
	eachRun(mapping, rows, place, func(run []byte) { _ = unix.Madvise(run, unix.MADV_POPULATE_READ) })
}

// eachRun calls f for the pages of rows. Neighbouring rows are in one call.
func eachRun(mapping []byte, rows []int32, place func(row int32) (from, to uint64), f func(run []byte)) {
	page := uint64(os.Getpagesize())
	var from, to uint64
	for _, i := range rows {
		lo, hi := place(i)
		lo = lo / page * page
		if from < to && lo >= from && lo <= to {
			to = max(to, hi)
			continue
		}
		if from < to {
			f(mapping[from:to])
		}
		from, to = lo, hi
	}
	if from < to {
		f(mapping[from:to])
	}
}
