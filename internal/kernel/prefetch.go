package kernel

import "unsafe"

// Prefetch asks the processor to bring x[ids[k]], for all k, near: into its second-level
// cache, for which it waits for more cache misses at a time than for the first (on Zen 4 twice as
// many). It is for random reads of an x that is larger than the caches: call it some hundred
// elements before they are read. It changes nothing. The ids must be indices of x.
func Prefetch[T any](x []T, ids []int32) {
	if len(x) > 0 && len(ids) > 0 {
		prefetch(unsafe.Pointer(&x[0]), unsafe.Sizeof(x[0]), len(x), ids)
	}
}

// PrefetchSlice asks for all elements of x, as Prefetch does.
func PrefetchSlice[T any](x []T) {
	if len(x) > 0 {
		prefetchSlice(unsafe.Pointer(&x[0]), unsafe.Sizeof(x[0])*uintptr(len(x)))
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
		i := int(r.rows[0]) * r.width
		PrefetchSlice(r.x[i : i+r.width])
		r.rows = r.rows[1:]
	}
}

// touch reads the first byte of elements of x, in a loop in which the processor waits for
// many cache misses at a time. It is for machines without prefetches. The sum has no meaning: it
// is there, and the function is not inlined, so that the compiler does not remove the reads.
//
//go:noinline
func touch(x unsafe.Pointer, size uintptr, n int, ids []int32) (mixed byte) {
	for _, i := range ids {
		if uint(i) < uint(n) {
			mixed ^= *(*byte)(unsafe.Add(x, uintptr(i)*size))
		}
	}
	return mixed
}

// touchSlice is touch of each cache line of x.
//
//go:noinline
func touchSlice(x unsafe.Pointer, bytes uintptr) (mixed byte) {
	for at := uintptr(0); at < bytes; at += 64 {
		mixed ^= *(*byte)(unsafe.Add(x, at))
	}
	return mixed ^ *(*byte)(unsafe.Add(x, bytes-1))
}
