package samplers

import (
	"fmt"
	"math"
)

// HorvitzThompson is the weight of draws whose inclusion probabilities are known
// (Horvitz & Thompson 1952),
//
//	β_i = 1/π_i,
//
// unbiased: E[β_i] = π_i·(1/π_i) = 1. It goes with Poisson, Systematic and
// WithReplacement; for the latter π_i = 1−(1−p_i)^s, and repeats do not count. The
// π_i of weighted random sampling take too long to compute; its weights are
// Debiased, Rank, SumAndSample and RaoBlackwellised. Cost: O(s).
//
// Under Poisson sampling the variance of the estimate of ΣX_i is
// Σ X_i² (1−π_i)/π_i.
type HorvitzThompson struct{}

// Check implements Weight.
func (HorvitzThompson) Check(draw Draw) error {
	switch draw.(type) {
	case Poisson, Systematic, WithReplacement:
		return nil
	}
	return fmt.Errorf("samplers: Horvitz-Thompson weights need a draw with known inclusion probabilities (Poisson, Systematic or WithReplacement), got %T", draw)
}

// Weigh implements Weight.
func (HorvitzThompson) Weigh(population *Population, sample *Sample, beta []float64) {
	if len(sample.Count) > 0 {
		draws := float64(sample.Draws)
		for j, w := range sample.Weight {
			beta[j] = -1 / math.Expm1(draws*math.Log1p(-w/population.Total))
		}
		return
	}
	for j, pi := range sample.Inclusion {
		beta[j] = 1 / pi
	}
}
