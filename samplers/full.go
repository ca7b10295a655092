package samplers

import (
	"context"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// Full takes all neighbours: the outputs of its batch are exactly the outputs of
// the seeds in the whole graph. The blocks grow with every layer, up to the whole
// graph. The fields must not change after the first call of Sample; Sample may be
// called concurrently.
type Full struct {
	Laplacian *graph.Laplacian // required
	Depth     int              // number of layers; required

	prepare preparation
	scratch scratchPool[fullScratch]
}

var _ Sampler = (*Full)(nil)

type fullScratch struct {
	neighborhood neighborhood
	local        []int32
	factor       []float64
}

// Layers returns Depth.
func (s *Full) Layers() int { return s.Depth }

// Validate returns an error if a field is missing or out of range. Sample calls it.
func (s *Full) Validate() error {
	return s.prepare.do(func() error { return checkDeep("Full", s.Laplacian, s.Depth) })
}

// Sample implements Sampler; it does not use rng. Cost: O(nonzeros of the rows) per
// layer.
func (s *Full) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	return sampleLayers(ctx, s, &s.scratch, seeds, rng, batch)
}

func (s *Full) matrix() *graph.Laplacian { return s.Laplacian }

func (s *Full) sampleLayer(scratch *fullScratch, batch *MiniBatch, at int, rows []int32, _ *rand.Rand) error {
	return fillFull(scratch, s.Laplacian, rows, batch.Blocks[at])
}

// fillFull fills block with all neighbours of rows.
func fillFull(scratch *fullScratch, p *graph.Laplacian, rows []int32, block *graph.Block) error {
	h := &scratch.neighborhood
	if err := h.walk(p, rows); err != nil {
		return err
	}
	scratch.local = resize(scratch.local, len(h.nodes))
	scratch.factor = resize(scratch.factor, len(h.nodes))
	for c, scale := range h.scales {
		scratch.local[c] = int32(c)
		scratch.factor[c] = float64(scale)
	}
	block.Src = append(block.Src[:0], h.nodes...)
	h.fill(block, rows, scratch.local, nil, scratch.factor)
	return nil
}
