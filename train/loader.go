package train

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Loader draws a stream's batches ahead, on its own goroutines, and returns them in
// order. It holds a fixed number of batches and reuses their memory; a worker waits
// while all of them are full. The batches do not depend on the number of workers.
type Loader struct {
	stream  *Stream
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	workers *errgroup.Group

	end     int          // index after the last batch
	next    int          // index of the batch that Next returns
	claimed atomic.Int64 // index of the next batch to draw
	free    chan *Item   // whose memory can be reused
	drawn   []chan *Item // item k is sent on drawn[k % len(drawn)]
	current []*Item      // the items that the caller of Next has, the oldest first

	// Processors are reserved for the workers that draw, or will soon. A helper of parallel.For
	// must leave such a processor before a worker can wake on it.
	reserving sync.Mutex
	most      int // of the processors
	drawing   int // items that workers fill
	reserved  int // processors
}

// helpTime is the time that a worker helps before it sleeps: longer than the time
// between two parallel loops of the trainer.
const helpTime = 50 * time.Microsecond

// take returns an item as soon as there is one, or nil when the loader is closed. A worker that
// finds none helps with the trainer's parallel loops for a while before it sleeps, so that it
// still has a processor and warm caches when the trainer returns an item.
func (l *Loader) take() *Item {
	if len(l.free) == 0 {
		parallel.Linger(helpTime, func() bool { return len(l.free) > 0 })
	}
	select {
	case item := <-l.free:
		return item
	case <-l.ctx.Done():
		return nil
	}
}

// reserve counts more items that workers fill, and reserves as many processors as the workers need
// for these, for the free items, and for more items that will soon be free.
func (l *Loader) reserve(drawing, free int) {
	l.reserving.Lock()
	defer l.reserving.Unlock()
	l.drawing += drawing
	left := max(l.end-int(l.claimed.Load()), 0) // batches that no worker has begun
	want := min(l.most, l.drawing+min(len(l.free)+free, left))
	parallel.Reserve(want - l.reserved)
	l.reserved = want
}

// NewLoader starts at least one worker, to draw the batches number first to end−1 of
// the stream. There are none if end ≤ first. ctx stops the workers early. Call Close in
// any case.
func NewLoader(ctx context.Context, stream Stream, workers, first, end int) (*Loader, error) {
	if err := stream.Validate(); err != nil {
		return nil, err
	}
	if first < 0 {
		return nil, fmt.Errorf("train: batches from number %d, want at least 0", first)
	}
	end = max(end, first)
	workers = max(1, min(workers, end-first))
	l := &Loader{stream: &stream, end: end, next: first}
	ctx, l.cancel = context.WithCancel(ctx)
	l.workers, l.ctx = errgroup.WithContext(ctx)
	// Two items per worker even out slow batches. All indices that are claimed but not
	// yet returned lie in one window of this length. So no two of them share a channel,
	// and a worker never waits to send.
	ring := 2*workers + 1 + stream.held
	l.free, l.drawn = make(chan *Item, ring), make([]chan *Item, ring)
	for k := range l.drawn {
		l.drawn[k] = make(chan *Item, 1)
		l.free <- &Item{Blocks: new(samplers.MiniBatch)}
	}
	l.claimed.Store(int64(first))
	if stream.rows == nil { // else they wait for rows most of the time
		l.most = workers
	}
	l.reserve(0, 0)
	for range workers {
		l.workers.Go(l.work)
	}
	return l, nil
}

func (l *Loader) work() error {
	d := newDrawer(l.stream)
	for {
		// First the memory, then the index: the lowest claimed index then always has
		// memory, and the workers cannot deadlock.
		item := l.take()
		if item == nil {
			return nil
		}
		index := int(l.claimed.Add(1) - 1)
		if index >= l.end {
			return nil
		}
		l.reserve(1, 0)
		d.draw(l.ctx, index, item)
		failed := item.err != nil
		l.reserve(-1, 0)
		l.drawn[index%len(l.drawn)] <- item // from here on the item is the trainer's
		if failed {
			if l.stream.rows != nil {
				l.stream.rows.Fail(l.ctx, index, item.err)
			}
			return nil // Next returns the error in its turn
		}
		// Let the trainer run first: it may have been woken on this processor.
		runtime.Gosched()
	}
}

// Next returns the next batch in order. The batch belongs to the caller until the next
// call. Next returns io.EOF after the last batch. If a batch cannot be drawn, this and
// all later calls return the error; after Close, or when the context is done, they
// return the context's error.
func (l *Loader) Next() (*Item, error) {
	if len(l.current) > l.stream.held {
		// Reserve the processor before a worker wakes on it.
		l.reserve(0, 1)
		l.free <- l.current[0]
		l.current = append(l.current[:0], l.current[1:]...)
	}
	if l.next >= l.end {
		return nil, io.EOF
	}
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case item := <-l.drawn[l.next%len(l.drawn)]:
		if item.err != nil {
			l.drawn[l.next%len(l.drawn)] <- item // for later calls: the worker has ended
			return nil, item.err
		}
		l.current = append(l.current, item)
		l.next++
		return item, nil
	case <-l.ctx.Done():
		return nil, l.ctx.Err()
	}
}

// Close stops the workers and waits for them.
func (l *Loader) Close() error {
	l.cancel()
	err := l.workers.Wait()
	l.reserving.Lock() // a fetcher may still call Next
	l.most = 0
	l.reserving.Unlock()
	l.reserve(0, 0)
	return err
}
