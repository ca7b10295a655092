package samplers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// DropEdges is edge dropout: it drops entries of another sampler's blocks at random, and
// divides the others by the probability to be kept. (Rong et al. 2020, arXiv:1907.10903,
// do not divide: they compute the normalisation again, for the kept edges.) A row's own
// entry is always kept. Given the sampler's draw, the expectation of P̃ is the sampler's P̃,
// so an unbiased estimate stays unbiased. Layers that share a block share its mask.
//
// The random decisions come from the mini-batch's stream, after the sampler's own. Samplers
// with a control variate and samplers that learn are refused: they need all entries.
type DropEdges struct {
	Sampler Sampler // required
	Rate    float64 // probability to drop an entry, in [0, 1)

	preparation
}

// Layers returns the number of layers of the sampler, 0 without one.
func (s *DropEdges) Layers() int {
	if s.Sampler == nil {
		return 0
	}
	return s.Sampler.Layers()
}

// NominalSizes returns the sizes of the sampler, or nil if it does not know them.
func (s *DropEdges) NominalSizes() []int {
	if sized, ok := s.Sampler.(interface{ NominalSizes() []int }); ok {
		return sized.NominalSizes()
	}
	return nil
}

// Prepare implements Preparer. It prepares the sampler.
func (s *DropEdges) Prepare() error { return s.once(s, s.setUp) }

func (s *DropEdges) setUp() error {
	if s.Sampler == nil || !(s.Rate >= 0 && s.Rate < 1) {
		return fmt.Errorf("samplers: DropEdges of rate %v: want a sampler, and a rate in [0, 1)", s.Rate)
	}
	if err := Prepare(s.Sampler); err != nil {
		return err
	}
	if controlled(s.Sampler) {
		return errDropControl
	}
	if learns, ok := s.Sampler.(learner); ok && learns.Parameters() > 0 {
		return fmt.Errorf("samplers: DropEdges of a sampler that learns: it needs the entries that it drew")
	}
	return nil
}

var errDropControl = fmt.Errorf("samplers: DropEdges of a sampler with a control variate: the control adds the entries that the sampler left out, and would add the dropped ones")

// Sample implements Sampler. Cost: the sampler's, and O(NNZ) of the blocks.
func (s *DropEdges) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if !s.done {
		return errUnprepared
	}
	if err := s.Sampler.Sample(ctx, seeds, rng, batch); err != nil || s.Rate == 0 {
		return err
	}
	for l, block := range batch.Blocks {
		if block.Control != nil {
			return errDropControl
		}
		if !slices.Contains(batch.Blocks[:l], block) {
			dropEdges(block, float32(1/(1-s.Rate)), func() bool { return rng.Float64() >= s.Rate })
		}
	}
	return nil
}

// dropEdges keeps a row's own entry, and the other entries for which keep returns true, times
// scale.
func dropEdges(block *graph.Block, scale float32, keep func() bool) {
	m := &block.Matrix
	lo, kept := int64(0), int64(0)
	for i, v := range block.Dst {
		hi := m.Ptr[i+1]
		for k := lo; k < hi; k++ {
			column, value := m.Idx[k], m.Val[k]
			if block.Src[column] != v {
				if !keep() {
					continue
				}
				value *= scale
			}
			m.Idx[kept], m.Val[kept] = column, value
			kept++
		}
		lo, m.Ptr[i+1] = hi, kept
	}
	m.Idx, m.Val = m.Idx[:kept], m.Val[:kept]
	block.Finish()
}
