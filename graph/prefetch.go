package graph

import (
	"context"
	"sync"
)

// prefetchedRows is the number of rows that FromLast reads ahead: many requests for the disk
// at a time, and few of the pages of memory.
const prefetchedRows = 1 << 14

// FromLast calls f for the parts rows[lo:hi] of rows, from the last part to the first. So a
// pass over a file in its order, right after, finds the pages of its first rows in memory.
//
// prefetch, of a CSR or of Features, is called for each part while f works on the one before,
// on a goroutine of its own, since the call that starts to read many rows takes time. It may
// be nil. ctx is checked at each part. The first error of f ends the calls.
func FromLast(ctx context.Context, rows []int32, prefetch func(rows []int32), f func(lo, hi int) error) error {
	var prefetching sync.WaitGroup // of one part at a time
	start := func(hi int) {
		if prefetch != nil && hi > 0 {
			prefetching.Go(func() { prefetch(rows[max(hi-prefetchedRows, 0):hi]) })
		}
	}
	defer prefetching.Wait()
	start(len(rows))
	for hi := len(rows); hi > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		lo := max(hi-prefetchedRows, 0)
		prefetching.Wait()
		start(lo)
		if err := f(lo, hi); err != nil {
			return err
		}
		hi = lo
	}
	return nil
}
