package train

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Stream is a sequence of mini-batches, each a pure function of (Seed, epoch,
// batch of the epoch): of no worker, and of no batch before it.
//
// To train on several machines in step, give each a rank: of Ranks ranks, the
// one numbered Rank sees every Ranks-th batch, and step k of all of them
// together is the batches k·Ranks … k·Ranks+Ranks−1 of the whole sequence.
type Stream struct {
	Sampler samplers.Sampler
	Train   []int32 // the nodes to draw from, distinct; not changed

	BatchSize       int  // nodes a batch; len(Train) or more means all of them
	BatchesPerEpoch int  // independent draws of distinct nodes in an epoch
	Permute         bool // an epoch is one pass over Train in random order instead

	Seed        uint64
	Rank, Ranks int // 0 ranks means 1
}

// PerEpoch returns the number of batches in an epoch of a valid stream.
func (s *Stream) PerEpoch() int {
	if !s.Permute {
		return s.BatchesPerEpoch
	}
	return (len(s.Train)-1)/s.BatchSize + 1
}

// Place returns the epoch and the batch of it that is number index, from 0, of
// this rank of a valid stream.
func (s *Stream) Place(index int) (epoch, batch int) {
	whole := index*max(s.Ranks, 1) + s.Rank
	return whole / s.PerEpoch(), whole % s.PerEpoch()
}

// Validate reports a setting that has no batches. Whether Train's nodes are
// distinct, and of the graph, samplers say.
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
	case s.Rank < 0 || s.Rank >= max(s.Ranks, 1):
		return fmt.Errorf("train: rank %d of %d", s.Rank, max(s.Ranks, 1))
	}
	return nil
}

// Item is one mini-batch of a stream.
type Item struct {
	Index        int     // in the stream, from 0
	Epoch, Batch int     // its place
	Seeds        []int32 // the training nodes drawn
	Blocks       *samplers.MiniBatch
	Dropout      uint64        // seed of the step's other random decisions
	Sampling     time.Duration // what drawing it took
	err          error
}

// drawer makes items; each worker has one.
type drawer struct {
	stream *Stream
	order  []int32 // Train, permuted if an epoch is a permutation
	epoch  int     // whose permutation order is
	picks  []int32 // of the partial shuffle, to undo it
	source rand.PCG
	rng    *rand.Rand

	touched int32 // keeps reads that only fill the cache from being optimised away
}

func newDrawer(s *Stream) *drawer {
	d := &drawer{stream: s, order: append([]int32(nil), s.Train...), epoch: -1}
	d.rng = rand.New(&d.source)
	return d
}

// draw fills item with number index of the stream. A panic in the sampler
// becomes item's error.
func (d *drawer) draw(ctx context.Context, index int, item *Item) {
	s := d.stream
	item.Index = index
	item.Epoch, item.Batch = s.Place(index)
	start := time.Now()
	defer func() {
		item.Sampling = time.Since(start)
		if p := recover(); p != nil {
			item.err = fmt.Errorf("train: batch %d (epoch %d): the sampler panicked: %v%s", index, item.Epoch, p, crash.Place())
		}
	}()
	epoch, batch := uint64(item.Epoch), uint64(item.Batch)
	// The complement keeps dropout's stream apart from the sampler's.
	samplers.Seed(&d.source, ^s.Seed, epoch, batch)
	item.Dropout = d.source.Uint64()
	d.seeds(item)
	item.err = s.Sampler.Sample(ctx, item.Seeds, d.rng, item.Blocks)
	if item.err != nil && ctx.Err() == nil {
		item.err = fmt.Errorf("train: batch %d (epoch %d): %w", index, item.Epoch, item.err)
	}
}

// seeds draws the item's training nodes and leaves the source in the batch's
// stream, where the sampler goes on.
func (d *drawer) seeds(item *Item) {
	s := d.stream
	n := len(s.Train)
	if s.Permute {
		if d.epoch != item.Epoch {
			const shuffle = ^uint64(0) // a batch number that no batch has
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
	// A partial Fisher–Yates shuffle, undone after, costs O(size), not O(n).
	d.picks = d.picks[:0]
	for k := range size {
		d.picks = append(d.picks, int32(k+d.rng.IntN(n-k)))
	}
	// Read once in a loop that waits for many cache misses at a time.
	for _, j := range d.picks {
		d.touched ^= d.order[j]
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

// Loader draws a stream's batches ahead on goroutines of its own and hands them
// out in order. It holds a fixed number of batches, whose memory it reuses:
// workers that are ahead wait. What it hands out does not depend on the number
// of workers.
type Loader struct {
	stream  *Stream
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	workers *errgroup.Group

	end     int          // index after the last
	next    int          // index that Next returns
	claimed atomic.Int64 // index that the next free worker draws
	free    freeList
	drawn   []chan *Item // item k is sent on drawn[k % len(drawn)]
	current *Item
	failed  error // what Next returns from now on

	processors coreReservation
}

// freeList holds the items that nobody has. A worker that finds it empty helps the
// trainer for a while before it sleeps: it is then on its processor, and its
// caches are warm, when the trainer gives an item back.
type freeList struct {
	mutex    sync.Mutex
	items    []*Item
	filled   atomic.Int64 // len(items)
	helping  int          // workers that watch the shelf
	sleeping int          // workers that wait for wake
	wake     chan struct{}
}

// helping is how long a worker waits for the trainer's next op before it sleeps:
// longer than from one to the next.
const helping = 50 * time.Microsecond

// put adds an item, for which a worker is woken if none watches.
func (s *freeList) put(item *Item) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.items = append(s.items, item)
	s.filled.Add(1)
	if s.sleeping > 0 && len(s.items) > s.helping {
		s.sleeping--
		s.wake <- struct{}{} // has room: no more than there are workers
	}
}

// take returns an item as soon as there is one; nil once the context is done.
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
			parallel.Linger(helping, func() bool { return s.filled.Load() > 0 })
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

// coreReservation is how many processors a loader's workers keep busy, or are about
// to: the helpers of parallel.For must be gone from those before a worker can
// wake there.
type coreReservation struct {
	sync.Mutex
	workers int // 0 once the loader is closed
	free    int // items that nobody holds
	drawing int // items that workers hold
	left    int // batches not begun
	held    int // processors reserved
}

// update changes the counts and reserves what they ask for.
func (r *coreReservation) update(change func(*coreReservation)) {
	r.Lock()
	defer r.Unlock()
	change(r)
	want := min(r.workers, r.drawing+min(r.free, r.left))
	parallel.Reserve(want - r.held)
	r.held = want
}

// NewLoader starts workers, at least one, that draw the batches numbered first
// to end−1 of the stream; none where that is no number. ctx ends them early.
// Close must be called.
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
	// Twice the workers evens out batches that take long. Claimed but not
	// returned indices lie in one window of this many, so that they never
	// share a channel, and a worker never waits to send.
	ring := 2*workers + 1
	l.free.wake = make(chan struct{}, ring)
	l.drawn = make([]chan *Item, ring)
	for k := range l.drawn {
		l.drawn[k] = make(chan *Item, 1)
		l.free.put(&Item{Blocks: new(samplers.MiniBatch)})
	}
	l.claimed.Store(int64(first))
	l.processors = coreReservation{workers: workers, free: ring, left: end - first}
	l.processors.update(func(*coreReservation) {})
	for range workers {
		l.workers.Go(l.work)
	}
	return l, nil
}

func (l *Loader) work() error {
	d := newDrawer(l.stream)
	for {
		// The memory comes first and the index after: the lowest index not yet
		// handed out then always has memory, and the ring cannot lock up.
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
		l.drawn[index%len(l.drawn)] <- item // gives it away
		if failed {
			return nil // Next reports it, in its turn
		}
		// Who waits for the item goes first: it may have been woken on this
		// very processor.
		runtime.Gosched()
	}
}

// Next returns the next batch in order, which is the caller's until the next
// call; io.EOF after the last; the error of drawing it, then and ever after; or
// the context's error once that is done, as it is after Close.
func (l *Loader) Next() (*Item, error) {
	if l.current != nil {
		// Reserved here, not by the worker that it wakes.
		l.processors.update(func(r *coreReservation) { r.free++ })
		l.free.put(l.current)
		l.current = nil
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
			l.failed = item.err // its worker has ended
			return nil, l.failed
		}
		l.current = item
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
