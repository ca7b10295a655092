package samplers

import "fmt"

// Weight gives each drawn candidate i its factor β_i, so that Σ β_i X_i over the
// sample estimates ΣX_i over all candidates. Implementations are read-only in
// use.
type Weight interface {
	// Check returns an error if the weight does not go with the draw.
	Check(draw Draw) error

	// Weigh sets beta[j] to the factor of sample.Index[j].
	Weigh(population *Population, sample *Sample, beta []float64)
}

// DefaultWeight returns the weight of a draw for which none is chosen, an unbiased
// one: Naive for WithReplacement, HorvitzThompson for Poisson and Systematic,
// Debiased for WithoutReplacement and for any other draw.
func DefaultWeight(draw Draw) Weight {
	switch draw.(type) {
	case WithReplacement:
		return Naive{}
	case Poisson, Systematic:
		return HorvitzThompson{}
	}
	return Debiased{}
}

// Naive is the importance sampling weight of draws with replacement,
//
//	β_i = (number of draws of i) / (s p_i),
//
// unbiased for WithReplacement. FastGCN and LADIES also use it for draws without
// replacement, where it is biased: E[β_i] ≠ 1 (Chen et al. 2023, §5.2).
type Naive struct{}

// Check implements Weight: Naive goes with every draw.
func (Naive) Check(Draw) error { return nil }

// Weigh implements Weight.
func (Naive) Weigh(population *Population, sample *Sample, beta []float64) {
	for j, w := range sample.Weight {
		beta[j] = population.Total / (float64(sample.Draws) * w)
		if len(sample.Count) > 0 {
			beta[j] *= float64(sample.Count[j])
		}
	}
}

// Debiased is the weight of Algorithm 1 of Chen et al. (2023). It makes weighted
// random sampling unbiased: E[β_i] = 1 for every candidate.
//
// The algorithm averages the sum-and-sample estimators Π_1 … Π_s recursively,
// Y_k = (1−α_k) Y_{k−1} + α_k Π_k with α_{k+1} = n/((n−k)(k+1)). Since
// ∏_{k=j+1..s} (1−α_k) = j(n−s)/(s(n−j)), it has the closed form
//
//	β_j = n/(s(n−j)) · [ (s−j) + (n−s)/(n−j+1) · R_j/w_j ],   j = 1 … s,
//
// with w_j the weight of draw j and R_j the weight not drawn before it; β = 1 at
// s = n. Cost: O(s); the algorithm as printed takes O(s²).
type Debiased struct {
	// Population is n. 0 means the number of candidates m; the estimate is then
	// exact at s = m. A number below m counts as m. The program released with the
	// paper takes the number of nodes of the graph, AllNodes, which is also unbiased, but
	// of larger variance.
	Population int
}

// AllNodes is the Population of all nodes of a sampler's graph.
const AllNodes = -1

// Check implements Weight.
func (d Debiased) Check(draw Draw) error { return checkOrdered("debiased", draw) }

// Weigh implements Weight.
func (d Debiased) Weigh(population *Population, sample *Sample, beta []float64) {
	n := float64(max(population.Positive, d.Population))
	s := float64(len(sample.Index))
	if s == n {
		fill(beta, 1)
		return
	}
	for k, w := range sample.Weight {
		j := float64(k + 1)
		beta[k] = n / (s * (n - j)) * ((s - j) + (n-s)/(n-j+1)*sample.Remaining[k]/w)
	}
}

// checkOrdered returns an error unless draw is weighted random sampling.
func checkOrdered(weight string, draw Draw) error {
	if _, ok := draw.(WithoutReplacement); !ok {
		return fmt.Errorf("samplers: %s weights need weighted random sampling without replacement (WithoutReplacement), got %T", weight, draw)
	}
	return nil
}
