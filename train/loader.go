package train

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Stream is a sequence of mini-batches. Each is a pure function of (Seed, epoch, number
// in the epoch): it depends on no worker, and on no earlier batch. Only the streams of Fit
// with Options.Seeds or an Adaptive sampler depend on batches at least one period earlier.
//
// Micro batches in a row make one update of the parameters: update k uses the batches
// k·Micro to k·Micro+Micro−1 of the sequence. Ranks share them: each gets a range of every
// update's batches. So the sequence does not depend on the number of ranks.
type Stream struct {
	Sampler samplers.Sampler
	Train   []int32 // the nodes to draw from, distinct; not changed

	BatchSize       int  // nodes per batch; len(Train) or more means all of them
	BatchesPerEpoch int  // batches per epoch, each an independent draw of distinct nodes
	Permute         bool // an epoch is one pass over Train in random order; BatchesPerEpoch is not used

	Seed        uint64
	Micro       int // batches of an update; 0 means 1
	Rank, Ranks int // 0 Ranks means 1; at most Micro

	// Prefetch, if not nil, is called for each batch by the worker that has drawn it. It starts
	// to read the batch's rows of features from disk: see layers.Batch.Prefetch. It does not
	// change the batches.
	Prefetch func(*samplers.MiniBatch)

	seeds   *seedSchedule    // nil: uniform
	sampler *samplerSchedule // nil: Sampler draws all batches
	held    int              // batches of a Loader that stay the caller's, beside the last one
	rows    *rowRounds       // nil: all rows of the Laplacian are here
}

// PerEpoch returns the number of batches in an epoch of a valid stream.
func (s *Stream) PerEpoch() int {
	if !s.Permute {
		return s.BatchesPerEpoch
	}
	return (len(s.Train)-1)/s.BatchSize + 1
}

// Share returns the range [lo, hi) of each update's batches that this rank draws.
func (s *Stream) Share() (lo, hi int) { return share(max(s.Micro, 1), s.Rank, max(s.Ranks, 1)) }

// Place returns the epoch, and the number in the epoch, of batch number index of this
// rank. All numbers start at 0; the stream must be valid.
func (s *Stream) Place(index int) (epoch, batch int) {
	lo, hi := s.Share()
	whole := index/(hi-lo)*max(s.Micro, 1) + lo + index%(hi-lo)
	return whole / s.PerEpoch(), whole % s.PerEpoch()
}

// Validate returns an error for settings without batches. It does not check that
// Train's nodes are distinct nodes of the graph: samplers do.
func (s *Stream) Validate() error {
	switch {
	case s.Sampler == nil:
		return fmt.Errorf("train: batches without a sampler")
	case len(s.Train) == 0:
		return fmt.Errorf("train: the training set is empty")
	case s.BatchSize <= 0:
		return fmt.Errorf("train: batch size %d, want positive", s.BatchSize)
	case !s.Permute && s.BatchesPerEpoch <= 0:
		return fmt.Errorf("train: %d batches an epoch, want positive", s.BatchesPerEpoch)
	case s.Micro < 0:
		return fmt.Errorf("train: %d batches an update, want positive", s.Micro)
	case s.seeds != nil && s.Micro > 1:
		return fmt.Errorf("train: mini-batches by importance, %d an update: each rank would see the scores of its own batches only", s.Micro)
	case s.Rank < 0 || s.Rank >= max(s.Ranks, 1):
		return fmt.Errorf("train: rank %d of %d", s.Rank, max(s.Ranks, 1))
	case s.Ranks > max(s.Micro, 1):
		return fmt.Errorf("train: %d ranks share %d batches an update: want at least one for each", s.Ranks, max(s.Micro, 1))
	}
	return nil
}

// Item is one mini-batch of a stream.
type Item struct {
	Index        int     // in the stream, from 0
	Epoch, Batch int     // epoch, and number in the epoch
	Seeds        []int32 // the training nodes drawn
	Blocks       *samplers.MiniBatch
	Dropout      uint64        // seed of the step's other random decisions
	Sampling     time.Duration // time to draw the batch
	drawn        samplers.SeedDraw
	err          error
}

// weigh gives a batch drawn by importance the weights of its losses.
func (item *Item) weigh() error {
	b := item.Blocks
	if len(b.LossWeights) > 0 || !slices.Equal(b.Outputs(), item.Seeds) {
		return fmt.Errorf("the sampler draws output nodes of its own, so mini-batches cannot be drawn by importance: use --seeds uniform, or another method")
	}
	b.LossWeights = append(b.LossWeights, item.drawn.Weights...)
	return nil
}

// drawer draws items; each worker has one.
type drawer struct {
	stream *Stream
	order  []int32 // Train, permuted if an epoch is a permutation
	epoch  int     // the epoch of order's permutation
	picks  []int32 // swaps of the partial shuffle, to undo them
	source rand.PCG
	rng    *rand.Rand

	prefetched int32 // uses the prefetched values, so that the compiler keeps the reads
}

func newDrawer(s *Stream) *drawer {
	d := &drawer{stream: s, order: append([]int32(nil), s.Train...), epoch: -1}
	d.rng = rand.New(&d.source)
	return d
}

// draw fills item with batch number index of the stream. A panic in the sampler
// becomes the item's error.
func (d *drawer) draw(ctx context.Context, index int, item *Item) {
	s := d.stream
	item.Index = index
	item.Epoch, item.Batch = s.Place(index)
	var law *samplers.SeedLaw
	if s.seeds != nil {
		if law, item.err = s.seeds.of(ctx, index); item.err != nil {
			return
		}
	}
	sampler := s.Sampler
	if s.sampler != nil {
		if sampler, item.err = s.sampler.of(ctx, index); item.err != nil {
			return
		}
	}
	start := time.Now()
	defer func() {
		item.Sampling = time.Since(start)
		if p := recover(); p != nil {
			item.err = fmt.Errorf("train: batch %d (epoch %d): the sampler panicked: %v%s", index, item.Epoch, p, crash.Place())
		}
	}()
	epoch, batch := uint64(item.Epoch), uint64(item.Batch)
	// The complement of the seed gives dropout another random stream than the sampler.
	samplers.Seed(&d.source, ^s.Seed, epoch, batch)
	item.Dropout = d.source.Uint64()
	if law == nil {
		d.seeds(item)
	} else {
		d.important(item, law)
	}
	sampling := ctx
	if s.rows != nil {
		sampling = samplers.WithRows(ctx, func(rows []int32) error { return s.rows.ask(ctx, index, rows) })
	}
	item.err = sampler.Sample(sampling, item.Seeds, d.rng, item.Blocks)
	if item.err == nil && s.seeds != nil {
		item.err = item.weigh()
	}
	if item.err == nil && s.Prefetch != nil {
		s.Prefetch(item.Blocks)
	}
	if item.err != nil && ctx.Err() == nil {
		item.err = fmt.Errorf("train: batch %d (epoch %d): %w", index, item.Epoch, item.err)
	}
}

// seeds draws the item's training nodes. The sampler then continues with the same
// random stream.
func (d *drawer) seeds(item *Item) {
	s := d.stream
	n := len(s.Train)
	if s.Permute {
		if d.epoch != item.Epoch {
			const shuffle = ^uint64(0) // no batch has this number
			samplers.Seed(&d.source, s.Seed, uint64(item.Epoch), shuffle)
			copy(d.order, s.Train)
			d.rng.Shuffle(n, func(i, j int) { d.order[i], d.order[j] = d.order[j], d.order[i] })
			d.epoch = item.Epoch
		}
		lo := item.Batch * s.BatchSize
		item.Seeds = append(item.Seeds[:0], d.order[lo:min(lo+s.BatchSize, n)]...)
		samplers.Seed(&d.source, s.Seed, uint64(item.Epoch), uint64(item.Batch))
		return
	}
	samplers.Seed(&d.source, s.Seed, uint64(item.Epoch), uint64(item.Batch))
	size := min(s.BatchSize, n)
	if size == n {
		item.Seeds = append(item.Seeds[:0], s.Train...)
		return
	}
	// A partial Fisher–Yates shuffle that is undone afterwards costs O(size), not O(n).
	d.picks = d.picks[:0]
	for k := range size {
		d.picks = append(d.picks, int32(k+d.rng.IntN(n-k)))
	}
	// Prefetch: this loop has many cache misses in flight at a time.
	for _, j := range d.picks {
		d.prefetched ^= d.order[j]
	}
	for k, j := range d.picks {
		d.order[k], d.order[j] = d.order[j], d.order[k]
	}
	item.Seeds = append(item.Seeds[:0], d.order[:size]...)
	for k := size - 1; k >= 0; k-- {
		j := d.picks[k]
		d.order[k], d.order[j] = d.order[j], d.order[k]
	}
}

// important draws the item's training nodes by importance. The sampler then continues
// with the same random stream.
func (d *drawer) important(item *Item, law *samplers.SeedLaw) {
	s := d.stream
	samplers.Seed(&d.source, s.Seed, uint64(item.Epoch), uint64(item.Batch))
	law.Draw(d.rng, s.BatchSize, &item.drawn)
	item.Seeds = item.Seeds[:0]
	for _, c := range item.drawn.Index {
		item.Seeds = append(item.Seeds, s.Train[c])
	}
}

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
	free    freeList
	drawn   []chan *Item // item k is sent on drawn[k % len(drawn)]
	current []*Item      // the items that the caller of Next has, the oldest first
	failed  error        // Next's error, once drawing has failed

	processors coreReservation
}

// freeList holds the items whose memory can be reused. A worker that finds it empty
// helps with the trainer's parallel loops for a while before it sleeps, so that it still
// has a processor and warm caches when the trainer returns an item.
type freeList struct {
	mutex    sync.Mutex
	items    []*Item
	filled   atomic.Int64 // len(items)
	helping  int          // workers that help and watch the list
	sleeping int          // workers that wait for wake
	wake     chan struct{}
}

// helpTime is the time that a worker helps before it sleeps: longer than the time
// between two parallel loops of the trainer.
const helpTime = 50 * time.Microsecond

// put adds an item, and wakes a worker if none watches the list.
func (s *freeList) put(item *Item) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.items = append(s.items, item)
	s.filled.Add(1)
	if s.sleeping > 0 && len(s.items) > s.helping {
		s.sleeping--
		s.wake <- struct{}{} // never blocks: its buffer has room for all workers
	}
}

// take returns an item as soon as there is one, or nil when the context is done.
func (s *freeList) take(ctx context.Context) *Item {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for helped := false; ctx.Err() == nil; {
		if last := len(s.items) - 1; last >= 0 {
			item := s.items[last]
			s.items = s.items[:last]
			s.filled.Add(-1)
			return item
		}
		if !helped {
			helped = true
			s.helping++
			s.mutex.Unlock()
			parallel.Linger(helpTime, func() bool { return s.filled.Load() > 0 })
			s.mutex.Lock()
			s.helping--
			continue
		}
		helped = false
		s.sleeping++
		s.mutex.Unlock()
		select {
		case <-s.wake:
		case <-ctx.Done():
		}
		s.mutex.Lock()
	}
	return nil
}

// coreReservation reserves processors for a loader's workers that draw, or will soon. A
// helper of parallel.For must leave such a processor before a worker can wake on it.
type coreReservation struct {
	sync.Mutex
	workers int // 0 after Close
	free    int // items in the free list
	drawing int // items that workers fill
	left    int // batches that no worker has begun
	held    int // processors reserved
}

// update changes the counts, and reserves as many processors as they need.
func (r *coreReservation) update(change func(*coreReservation)) {
	r.Lock()
	defer r.Unlock()
	change(r)
	want := min(r.workers, r.drawing+min(r.free, r.left))
	parallel.Reserve(want - r.held)
	r.held = want
}

// NewLoader starts at least one worker, to draw the batches number first to end−1 of
// the stream. There are none if end ≤ first. ctx stops the workers early. Call Close in
// any case.
func NewLoader(ctx context.Context, stream Stream, workers, first, end int) (*Loader, error) {
	if ctx == nil {
		return nil, errNoContext
	}
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
	l.free.wake = make(chan struct{}, ring)
	l.drawn = make([]chan *Item, ring)
	for k := range l.drawn {
		l.drawn[k] = make(chan *Item, 1)
		l.free.put(&Item{Blocks: new(samplers.MiniBatch)})
	}
	l.claimed.Store(int64(first))
	l.processors = coreReservation{workers: workers, free: ring, left: end - first}
	if stream.rows != nil {
		l.processors.workers = 0 // they wait for rows most of the time
	}
	l.processors.update(func(*coreReservation) {})
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
		item := l.free.take(l.ctx)
		if item == nil {
			return nil
		}
		index := int(l.claimed.Add(1) - 1)
		if index >= l.end {
			return nil
		}
		l.processors.update(func(r *coreReservation) { r.free--; r.drawing++; r.left-- })
		d.draw(l.ctx, index, item)
		failed := item.err != nil
		l.processors.update(func(r *coreReservation) { r.drawing-- })
		l.drawn[index%len(l.drawn)] <- item // from here on the item is the trainer's
		if failed {
			if l.stream.rows != nil {
				l.stream.rows.send(l.ctx, rowRequest{index: index, failed: item.err})
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
		// Reserve the processor before put wakes a worker.
		l.processors.update(func(r *coreReservation) { r.free++ })
		l.free.put(l.current[0])
		l.current = append(l.current[:0], l.current[1:]...)
	}
	if l.failed != nil {
		return nil, l.failed
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
			l.failed = item.err // the worker has ended
			return nil, l.failed
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
	l.processors.update(func(r *coreReservation) { r.workers = 0 })
	return err
}
