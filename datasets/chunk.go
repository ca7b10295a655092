package datasets

import (
	"context"
	"runtime"

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
