package kernel

import (
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// A product A·X reads a row of X for each entry of A. If A is dense and X is larger than the
// caches, a core computes it by segments of X: the terms of one segment for many rows of A,
// then the terms of the next. So it reads X from memory once for all of these rows. The terms of
// a row are summed in the order of its entries, as without segments. Any order of columns gives
// the right sums, but only ascending columns are fast.

const (
	segmentBytes   = 8 << 20 // of X: a part of the third-level cache, which cores share
	segmentEntries = 32      // of a row in a segment, at least: each segment reads and writes the row of dst again
	segmentReuse   = 4       // entries for each row of X, at least
	leastPart      = 1 << 20 // entries of A that a core multiplies at a time, about
	mostPart       = 1 << 22 // at most: 32 MiB where rows of P are written out
)

// SegmentedRows returns how many of the rows of A, with the given number of entries each, a
// core should multiply at a time by an X of xRows rows, or 0 if segments of X do not pay, or
// if there are too few rows for all cores.
func SegmentedRows(rows int, entries int64, xRows, width int) int {
	some := int(partEntries(xRows) / max(entries, 1))
	if cores := parallel.Free(); cores > 1 && rows < cores*some || !segmented(some, int64(some)*entries, xRows, width) {
		return 0
	}
	parts := max(rows/some, 1) // of one size: segments would not pay for a small rest
	return (rows + parts - 1) / parts
}

// partEntries returns the number of entries of A that a core should multiply at a time by
// segments of an X of xRows rows.
func partEntries(xRows int) int64 { return max(leastPart, 2*segmentReuse*int64(xRows)) }

// segmented reports whether segments of X pay for rows with the given number of entries.
func segmented(rows int, entries int64, xRows, width int) bool {
	segments := int64(xRows) * int64(width) * 4 / segmentBytes
	return segments > 2 && 4*width <= segmentBytes && rows > 0 &&
		entries/int64(rows) >= segmentEntries*segments && entries >= segmentReuse*int64(xRows) && partEntries(xRows) <= mostPart
}

// ascends reports whether the columns of rows lo to hi of A ascend from the second entry on,
// by a look at four rows. A wrong answer costs only time.
func ascends(a *graph.CSR, lo, hi int) bool {
	const looks = 4
	for i := lo; i < hi; i += (hi - lo + looks - 1) / looks {
		if row := a.Row(i); len(row) > 1 && !slices.IsSorted(row[1:]) {
			return false
		}
	}
	return true
}

// segment is the entries of rows whose columns are in one segment.
type segment struct {
	from, to []int64 // of each row, indices of entries
	add      bool    // to the terms of earlier segments
	end      int     // the first column of the next segment
}

var segments = sync.Pool{New: func() any { return new(segment) }}

// begin sets s to what comes before the first segment: the first entries of rows whose second
// is in a column before it, as a self-loop that precedes the ascending neighbours.
func (s *segment) begin(a *graph.CSR, from, to []int64) {
	s.from, s.to = append(s.from[:0], from...), append(s.to[:0], from...)
	s.add, s.end = false, 0
	for i, k := range from {
		if to[i]-k > 1 && a.Idx[k] > a.Idx[k+1] {
			s.to[i]++
		}
	}
}

// next sets s to the next segment, of the given number of columns. It returns false if there
// is none. The last segment has all entries that are left.
func (s *segment) next(a *graph.CSR, to []int64, columns int) bool {
	if s.add && s.end >= a.Cols {
		return false
	}
	s.add = true
	s.end += columns
	s.from, s.to = s.to, s.from
	if s.end >= a.Cols {
		copy(s.to, to)
		return true
	}
	for i, k := range s.from {
		row := a.Idx[k:to[i]]
		n := 0
		for n < len(row) && int(row[n]) < s.end {
			n++
		}
		s.to[i] = k + int64(n)
	}
	return true
}
