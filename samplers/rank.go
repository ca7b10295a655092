package samplers

import "math"

// Rank is the rank-conditioned weight of weighted random sampling by keys (Cohen
// & Kaplan 2007, "Summarizing data using bottom-k sketches"; with another law of
// the keys it is the priority sampling of Duffield, Lund & Thorup 2007),
//
//	β_i = 1 / (1 − exp(−w_i τ)),   τ the (s+1)-th smallest key E_k/w_k.
//
// Unbiased: let t be the s-th smallest key of the candidates other than i. Given
// their keys, i is drawn if and only if its own key is below t, which has
// probability 1−exp(−w_i t); if i is drawn, τ = t. At s = m, τ is infinite and
// β = 1.
//
// For s ≥ 2 the β_i are uncorrelated, as with Poisson sampling but at a fixed size;
// at s = 1 their variance is infinite. Cost: O(s). The sample must be drawn with
// WithoutReplacement.Keys; the samplers set it. With FastGCN a layer then costs
// O(nodes of the graph).
type Rank struct{}

// Check implements Weight.
func (Rank) Check(draw Draw) error { return checkOrdered("rank-conditioned", draw) }

// Weigh implements Weight.
func (Rank) Weigh(_ *Population, sample *Sample, beta []float64) {
	for j, w := range sample.Weight {
		beta[j] = -1 / math.Expm1(-w*sample.Threshold)
	}
}
