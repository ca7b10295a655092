package train

import (
	"context"

	"github.com/gcn-layerwise/gcn/layers"
)

// fetcher draws the mini-batches of the next update and fetches the rows that they read from other
// ranks, on a goroutine of its own, while this update computes.
//
// Exchanges need the same order on all ranks. With F(u) for the fetch of update u and S(u)
// for the sum of its gradients, the order is F(0) F(1) S(0) F(2) S(1) F(3) …: an update
// first installs the features that were fetched for it, then starts the next fetch, computes,
// waits for the fetch, and adds the gradients. A fetch is one round for each layer, of rows of
// the Laplacian, if they lie on several ranks, and one of features. Evaluations and refreshes
// come after a sum, when no fetch is under way.
type fetcher struct {
	partition *Partition
	batch     *layers.Batch
	loader    *Loader
	own       int // mini-batches of an update on this rank
	next      int // the next update to start
	end       int // after the last one
	layers    int // fetches of rows of the Laplacian in an update

	fetched chan error // of the fetch under way; nil: none
	items   []*Item    // that it drew
	sent    int64      // bytes that it sent

	done int64 // sent, of the mini-batches that next returned last
}

// start begins the fetch of the next update, if there is one.
func (f *fetcher) start(ctx context.Context) {
	if f.next >= f.end {
		return
	}
	done, update := make(chan error, 1), f.next
	f.fetched = done
	f.next++
	go func() { done <- f.fetch(ctx, update) }()
}

func (f *fetcher) fetch(ctx context.Context, update int) error {
	before := f.partition.Sent()
	for range f.layers {
		if err := f.rows(ctx, update); err != nil {
			return err
		}
	}
	f.items = f.items[:0]
	for range f.own {
		item, err := f.loader.Next()
		if err != nil {
			return err
		}
		f.items = append(f.items, item)
	}
	err := f.partition.stage(ctx, f.batch, f.items)
	f.sent = f.partition.Sent() - before
	return err
}

// rows fetches the rows of the Laplacian that the update's mini-batches read in a layer.
func (f *fetcher) rows(ctx context.Context, update int) error {
	requests, err := f.loader.stream.rows.gather(ctx, update)
	if err != nil {
		return err
	}
	var rows []int32
	for _, request := range requests {
		rows = append(rows, request.rows...)
	}
	if err := f.partition.adjacency.fetch(ctx, rows); err != nil {
		return err
	}
	for _, request := range requests {
		close(request.done)
	}
	return nil
}

// wait returns when no fetch is under way, with the error of the last one.
func (f *fetcher) wait() error {
	if f.fetched == nil {
		return nil
	}
	err := <-f.fetched
	f.fetched <- err // also for the next call
	return err
}

// take returns the mini-batches of the next update, with their rows in place.
func (f *fetcher) take(ctx context.Context, items []*Item) ([]*Item, error) {
	if f.fetched == nil {
		f.start(ctx)
	}
	if err := f.wait(); err != nil {
		return nil, err
	}
	items, f.done = append(items[:0], f.items...), f.sent
	f.partition.install()
	f.fetched = nil
	f.start(ctx)
	return items, nil
}
