package kernel

import (
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/simd"
)

// Prefetch asks the processor to bring x[ids[k]], for all k, near: into its second-level
// cache, for which it waits for more cache misses at a time than for the first (on Zen 4 twice as
// many). It is for random reads of an x that is larger than the caches: call it some tens of
// elements before they are read. It changes nothing, and without assembly it does nothing. The
// ids must be indices of x.
func Prefetch[T any](x []T, ids []int32) {
	if level != simd.Portable && len(x) > 0 && len(ids) > 0 {
		prefetchAt((*byte)(unsafe.Pointer(&x[0])), int(unsafe.Sizeof(x[0])), &ids[0], len(ids))
	}
}

// PrefetchSlice asks for all elements of x, as Prefetch does.
func PrefetchSlice[T any](x []T) {
	if level != simd.Portable && len(x) > 0 {
		prefetchLines((*byte)(unsafe.Pointer(&x[0])), int(unsafe.Sizeof(x[0]))*len(x))
	}
}

// farValues is the size of a matrix whose rows are prefetched: it does not fit in the
// second-level cache.
const farValues = 1 << 21

// aheadRows is how many rows ahead of its own a loop prefetches.
const aheadRows = 8

// rowReader prefetches the rows of a matrix that a loop reads.
type rowReader[T any] struct {
	x     []T
	rows  []int32 // still to be prefetched
	width int
}

// rowsAhead begins the loop over the given rows of x. A small x is not prefetched.
func rowsAhead[T any](x []T, rows []int32, width int) rowReader[T] {
	r := rowReader[T]{x: x, width: width}
	if len(x) > farValues {
		r.rows = rows
	}
	for range aheadRows {
		r.next()
	}
	return r
}

// next prefetches one more row.
func (r *rowReader[T]) next() {
	if len(r.rows) > 0 {
		PrefetchSlice(rowOf(r.x, int(r.rows[0]), r.width))
		r.rows = r.rows[1:]
	}
}
