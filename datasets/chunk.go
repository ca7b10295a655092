package datasets

import (
	"context"
	"runtime"
	"sort"

	"golang.org/x/sync/errgroup"
)

// eachChunk calls f for 0 … n−1 on all cores and returns the first error met,
// or the context's. What f computes must not depend on the order.
func eachChunk(ctx context.Context, n int, f func(chunk int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for chunk := range n {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			if running.Err() != nil {
				return nil // the cause is reported below, or by the chunk that failed
			}
			return f(chunk)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// eachEntry visits the entries (row, column) of a square sparse matrix whose
// rows increase, stripe of columns by stripe: a stripe's entries row by row on
// one goroutine, stripes concurrently. So visit may write to what belongs to the
// column, and a stripe is small enough for that to stay in the cache. A stripe
// ends early where visit returns false.
func eachEntry(ctx context.Context, ptr []int64, idx []int32, visit func(row int, column int32) bool) error {
	const stripe = 1 << 17
	n := len(ptr) - 1
	return eachChunk(ctx, (n+stripe-1)/stripe, func(s int) error {
		lo, hi := int32(s*stripe), int32(min((s+1)*stripe, n))
		for i := range n {
			row := idx[ptr[i]:ptr[i+1]]
			if lo > 0 {
				row = row[sort.Search(len(row), func(k int) bool { return row[k] >= lo }):]
			}
			for _, j := range row {
				if j >= hi {
					break
				}
				if !visit(i, j) {
					return nil
				}
			}
		}
		return nil
	})
}
