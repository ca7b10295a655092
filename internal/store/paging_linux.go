package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// The calls below give the system advice about a mapping. Their errors do not
// matter.

// releasePages gives the memory of the whole pages of mapping[from:to] back to the
// system. The system reads them from the file again on the next access.
func releasePages(mapping []byte, from, to int64) {
	page := int64(os.Getpagesize())
	from = (from + page - 1) / page * page
	if to = to / page * page; from < to {
		_ = unix.Madvise(mapping[from:to], unix.MADV_DONTNEED)
	}
}

// expectRandom turns off reading ahead in mapping[from:to]. Otherwise the system
// reads the neighbours of each page too, on some machines megabytes.
func expectRandom(mapping []byte, from, to int64) {
	_ = unix.Madvise(mapping[from/int64(os.Getpagesize())*int64(os.Getpagesize()):to], unix.MADV_RANDOM)
}

// fetchGap is the largest number of bytes between two rows that one request reads with them:
// a request costs about as much time as these bytes.
const fetchGap = 64 << 10

// fetchPiece is the largest number of bytes in one request. Of a larger one Linux reads only
// the first part, as long as the reading ahead of the disk: 128 KiB unless someone changed it.
const fetchPiece = 128 << 10

// fetchRows starts to read rows of a matrix in a mapping, and does not wait for them. place
// returns the bytes of a row. Rows that are near each other are one request.
func fetchRows(mapping []byte, rows []int32, place func(row int32) (from, to int64)) {
	page := int64(os.Getpagesize())
	var from, to int64
	read := func() {
		for ; from < to; from += fetchPiece {
			_ = unix.Madvise(mapping[from:min(from+fetchPiece, to)], unix.MADV_WILLNEED)
		}
	}
	for _, i := range rows {
		lo, hi := place(i)
		lo = lo / page * page
		if from < to && lo >= from && lo <= to+fetchGap {
			to = max(to, hi)
			continue
		}
		read()
		from, to = lo, hi
	}
	read()
}
