package train

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Stream is a sequence of mini-batches. Each is a pure function of (Seed, epoch, number
// in the epoch): it depends on no worker, and on no earlier batch. Only the streams of Fit
// with Options.Seeds or an Adaptive sampler depend on batches at least one period earlier.
//
// In Fit, Options.Micro batches in a row make one update of the parameters: update k uses the batches
// k·Micro to k·Micro+Micro−1 of the sequence. Ranks share them: each gets a range of every
// update's batches. So the sequence does not depend on the number of ranks.
type Stream struct {
	Sampler samplers.Sampler
	Train   []int32 // the nodes to draw from, distinct; not changed

	BatchSize       int  // nodes per batch; len(Train) or more means all of them
	BatchesPerEpoch int  // batches per epoch, each an independent draw of distinct nodes
	Permute         bool // an epoch is one pass over Train in random order; BatchesPerEpoch is not used

	Seed        uint64
	EdgeDropout float64 // share of the entries of blocks to drop, in [0, 1): see samplers.MiniBatch.DropEdges

	// Prefetch, if not nil, is called for each batch by the worker that has drawn it. It starts
	// to read the batch's rows of features from disk: see layers.Batch.Prefetch. It does not
	// change the batches.
	Prefetch func(*samplers.MiniBatch)

	micro   int              // batches of an update; 0: each is one
	lo, hi  int              // the batches of an update that this rank draws: lo to hi−1
	seeds   *seedSchedule    // nil: uniform
	sampler *samplerSchedule // nil: Sampler draws all batches
	held    int              // batches of a Loader that stay the caller's, beside the last one
	rows    *ranks.Rounds    // nil: all rows of the Laplacian are here
}

// PerEpoch returns the number of batches in an epoch of a valid stream.
func (s *Stream) PerEpoch() int {
	if !s.Permute {
		return s.BatchesPerEpoch
	}
	return (len(s.Train)-1)/s.BatchSize + 1
}

// Place returns the epoch, and the number in the epoch, of batch number index of this
// rank. All numbers start at 0; the stream must be valid.
func (s *Stream) Place(index int) (epoch, batch int) {
	if own := s.hi - s.lo; s.micro > 0 {
		index = index/own*s.micro + s.lo + index%own
	}
	return index / s.PerEpoch(), index % s.PerEpoch()
}

// Validate returns an error for settings without batches, and prepares Sampler
// (samplers.Prepare). It does not check that Train's nodes are distinct nodes of the graph:
// samplers do.
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
	case !(s.EdgeDropout >= 0 && s.EdgeDropout < 1):
		return fmt.Errorf("train: edge dropout %v, want 0 or more and less than 1", s.EdgeDropout)
	}
	return samplers.Prepare(s.Sampler)
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
}

func newDrawer(s *Stream) *drawer {
	d := &drawer{stream: s, order: slices.Clone(s.Train), epoch: -1}
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
	}()
	defer recovered(&item.err, fmt.Sprintf("train: batch %d (epoch %d): the sampler panicked", index, item.Epoch))
	epoch, batch := uint64(item.Epoch), uint64(item.Batch)
	// The complement of the seed gives dropout another random stream than the sampler.
	samplers.Seed(&d.source, ^s.Seed, epoch, batch)
	item.Dropout = d.source.Uint64()
	samplers.Seed(&d.source, s.Seed, epoch, batch)
	if law == nil {
		d.seeds(item)
	} else {
		d.important(item, law)
	}
	if s.rows != nil {
		item.Blocks.Fetch = func(rows []int32) error { return s.rows.Ask(ctx, index, rows) }
	}
	item.err = sampler.Sample(ctx, item.Seeds, d.rng, item.Blocks)
	if item.err == nil && s.EdgeDropout > 0 {
		item.err = item.Blocks.DropEdges(s.EdgeDropout, d.rng)
	}
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
			copy(d.order, s.Train)
			rng := rand.New(samplers.NewSource(s.Seed, uint64(item.Epoch), shuffle))
			rng.Shuffle(n, func(i, j int) { d.order[i], d.order[j] = d.order[j], d.order[i] })
			d.epoch = item.Epoch
		}
		lo := item.Batch * s.BatchSize
		item.Seeds = append(item.Seeds[:0], d.order[lo:min(lo+s.BatchSize, n)]...)
		return
	}
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
	for k, j := range d.picks {
		d.order[k], d.order[j] = d.order[j], d.order[k]
	}
	item.Seeds = append(item.Seeds[:0], d.order[:size]...)
	for k, j := range slices.Backward(d.picks) {
		d.order[k], d.order[j] = d.order[j], d.order[k]
	}
}

// important draws the item's training nodes by importance. The sampler then continues
// with the same random stream.
func (d *drawer) important(item *Item, law *samplers.SeedLaw) {
	s := d.stream
	law.Draw(d.rng, s.BatchSize, &item.drawn)
	item.Seeds = item.Seeds[:0]
	for _, c := range item.drawn.Index {
		item.Seeds = append(item.Seeds, s.Train[c])
	}
}

// stream returns the stream of a run's batches.
func (o Options) stream(m *layers.Model, d *datasets.Data) Stream {
	return Stream{
		Sampler: m.Batch.Sampler(), Train: d.Split.Train, Seed: o.Seed, EdgeDropout: o.EdgeDropout,
		BatchSize: o.Batch, BatchesPerEpoch: o.BatchesPerEpoch, Permute: o.BatchesPerEpoch == OnePass,
		Prefetch: m.Batch.Prefetch, micro: o.Micro, hi: o.Micro,
	}
}

// epochBatches returns the number of updates in all epochs, or Unlimited. perEpoch is the
// number of mini-batches in an epoch.
func (o Options) epochBatches(perEpoch int) int {
	if o.Epochs > Unlimited/max(perEpoch, 1) {
		return Unlimited
	}
	return (o.Epochs*perEpoch-1)/o.Micro + 1
}
