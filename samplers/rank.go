package samplers

import (
	"fmt"
	"math"
)

// Rank is the rank-conditioned weight of weighted random sampling by keys (Cohen
// & Kaplan 2007, "Summarizing data using bottom-k sketches"; with another law of
// the keys it is the priority sampling of Duffield, Lund & Thorup 2007),
//
//	β_i = 1 / (1 − exp(−w_i τ)),   τ the (s+1)-th smallest key E_k/w_k.
//
// It is unbiased: given the keys of the others, i is drawn if and only if its
// own key is below the s-th smallest of theirs, which is τ when it is drawn, and
// that has probability 1−exp(−w_i τ). At s = m, τ is infinite and β = 1.
//
// For s ≥ 2 the β_i are uncorrelated, as with Poisson sampling but at a fixed
// size; at s = 1 their variance is infinite. Cost: O(s). It needs a
// sample drawn with WithoutReplacement.Keys, which the samplers set for it, so
// that with FastGCN a layer costs O(nodes of the graph).
type Rank struct{}

// Check implements Weight.
func (Rank) Check(draw Draw) error { return checkOrdered("rank-conditioned", draw) }

// Weigh implements Weight.
func (Rank) Weigh(_ *Population, sample *Sample, beta []float64) {
	for j, w := range sample.Weight {
		beta[j] = -1 / math.Expm1(-w*sample.Threshold)
	}
}

// checkOrdered returns an error unless draw is weighted random sampling.
func checkOrdered(weight string, draw Draw) error {
	if _, ok := draw.(WithoutReplacement); !ok {
		return fmt.Errorf("samplers: %s weights need weighted random sampling without replacement (WithoutReplacement), got %T", weight, draw)
	}
	return nil
}

// drawFor returns draw, which weight may follow, such that weight has what it
// needs of a sample: Rank needs the keys.
func drawFor(weight Weight, draw Draw) Draw {
	if _, ok := weight.(Rank); ok {
		return WithoutReplacement{Keys: true}
	}
	return draw
}
