package train

import (
	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
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

	last  *errgroup.Group // the fetch that was started last; nil: none
	items []*Item         // that it drew
	left  []*Item         // mini-batches of this update that Next has not returned
	sent  int64           // bytes of all fetches
}

// start begins the fetch of the next update, if there is one.
func (f *fetcher) start() {
	if f.next >= f.end {
		return
	}
	update := f.next
	f.next++
	f.last = new(errgroup.Group)
	f.last.Go(func() error { return f.fetch(update) })
}

func (f *fetcher) fetch(update int) error {
	ctx, before := f.loader.ctx, f.partition.Sent()
	if s := f.loader.stream; s.rows != nil {
		for range s.Sampler.Layers() {
			if err := s.rows.Fetch(ctx, f.partition, update); err != nil {
				return err
			}
		}
	}
	var batches []*samplers.MiniBatch
	f.items = nil
	for range f.own {
		item, err := f.loader.Next()
		if err != nil {
			return err
		}
		f.items, batches = append(f.items, item), append(batches, item.Blocks)
	}
	err := f.partition.Stage(ctx, f.batch, batches)
	f.sent += f.partition.Sent() - before
	return err
}

// wait returns when no fetch is under way, with the error of the last one.
func (f *fetcher) wait() error {
	if f == nil || f.last == nil {
		return nil
	}
	return f.last.Wait()
}

// Next returns the next mini-batch, with its rows in place.
func (f *fetcher) Next() (*Item, error) {
	if len(f.left) == 0 {
		if f.last == nil {
			f.start()
		}
		if err := f.wait(); err != nil {
			return nil, err
		}
		f.left = f.items
		f.partition.Install()
		f.last = nil
		f.start()
	}
	item := f.left[0]
	f.left = f.left[1:]
	return item, nil
}
