package parallel

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Chunks calls f for 0 … n−1 on all processors. It returns the first error, or the
// context's; later chunks are then left out. The results of f must not depend on
// the order of the calls. Unlike For, it is for work that takes milliseconds, may
// fail and can be cancelled.
func Chunks(ctx context.Context, n int, f func(chunk int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for chunk := range n {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			if running.Err() != nil {
				return nil // reported below, or by the chunk that failed
			}
			return f(chunk)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
