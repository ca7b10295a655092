package samplers

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// DropEdges is edge dropout: it drops entries of the blocks at random, with the probability
// rate, in [0, 1), and divides the others by the probability to be kept. (Rong et al. 2020,
// arXiv:1907.10903, do not divide: they compute the normalisation again, for the kept edges.) A
// row's own entry is always kept. Given the sampler's draw, the expectation of P̃ is the
// sampler's P̃, so an unbiased estimate stays unbiased. Layers that share a block share its mask.
//
// Blocks with a control are refused: it adds the entries that the sampler left out, and would add
// the dropped ones. Cost: O(NNZ) of the blocks.
func (b *MiniBatch) DropEdges(rate float64, rng *rand.Rand) error {
	for l, block := range b.Blocks {
		if block.Control != nil {
			return errors.New("samplers: edge dropout of a block with a control variate, which would add the dropped entries")
		}
		if !slices.Contains(b.Blocks[:l], block) {
			dropEdges(block, float32(1/(1-rate)), func() bool { return rng.Float64() >= rate })
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
