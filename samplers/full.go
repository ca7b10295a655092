package samplers

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// Full takes all neighbours: the outputs of its batch are exactly the outputs of
// the seeds in the whole graph. The blocks grow with every layer, up to the whole
// graph. Their input nodes are in no fixed order.
type Full struct {
	Laplacian *graph.Laplacian // required
	Depth     int              // number of layers; required

	workspace[fullScratch]
}

var _ LayerSampler = (*Full)(nil)

type fullScratch struct {
	neighborhood neighborhood
	local        []int32
	factor       []float64
}

// Layers returns Depth.
func (s *Full) Layers() int { return s.Depth }

// Prepare implements Preparer.
func (s *Full) Prepare() error {
	return s.once(func() error { return checkDeep("Full", s.Laplacian, s.Depth) })
}

// Sample implements Sampler; it does not use rng. Cost: O(nonzeros of the rows) per
// layer.
func (s *Full) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return SampleLayers(ctx, s, seeds, rng, batch, nil)
}

// SampleLayer implements LayerSampler.
func (s *Full) SampleLayer(batch *MiniBatch, at int, rows []int32, _ *rand.Rand) error {
	scratch := s.get()
	defer s.put(scratch)
	return scratch.fill(s.Laplacian, rows, batch.Blocks[at])
}

// A block with at least this number of entries for each output node, and for each input
// node, has its input nodes in ascending order. The columns ascend then, and products of
// large blocks are faster: package kernel computes them by segments of their input.
const (
	denseBlock  = 256
	reusedInput = 8
)

// fill fills block with all neighbours of rows.
func (scratch *fullScratch) fill(p *graph.Laplacian, rows []int32, block *graph.Block) error {
	h := &scratch.neighborhood
	if err := h.walk(p, rows); err != nil {
		return err
	}
	scratch.local = resize(scratch.local, len(h.nodes))
	scratch.factor = resize(scratch.factor, len(h.nodes))
	block.Src = append(block.Src[:0], h.nodes...)
	ascending := len(h.entries) >= max(denseBlock*len(rows), reusedInput*len(h.nodes))
	if ascending {
		slices.Sort(block.Src)
	}
	for k, v := range block.Src {
		c := int32(k)
		if ascending {
			c = h.number(v)
		}
		scratch.local[c], scratch.factor[k] = int32(k), float64(h.scales[c])
	}
	block.SetColScale(p)
	h.fill(block, rows, scratch.local, nil, scratch.factor)
	return nil
}
