package samplers

import (
	"math"
	"math/rand/v2"
)

// Poisson is Poisson sampling (Hájek 1964; for layer-wise sampling Balin &
// Çatalyürek 2023, arXiv:2210.13339, as PLADIES): each candidate is drawn
// independently, with probability
//
//	π_i = min(1, c·w_i),   c such that Σ π_i = s.
//
// The expected size is s, its variance Σ π_i (1−π_i) < s. An empty sample is drawn
// again; Sample.Inclusion accounts for this and holds π_i / (1 − ∏(1−π_j)).
//
// Cost: O(m), one random number per candidate, and a few passes to find c.
type Poisson struct{}

// Draw implements Draw. It draws at least one candidate, and s in expectation if
// empty samples count.
func (Poisson) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset(s)
	scale := inclusionScale(population, s)
	nonEmpty := 1.0 // 1 − ∏ (1 − π_i)
	if s < 40 {     // else it is 1 up to rounding, since the product is at most e^−s
		log := 0.0
		for _, w := range population.Weights {
			log += math.Log1p(-inclusion(scale, w)) // π = 1: −Inf
		}
		nonEmpty -= math.Exp(log)
	}
	for len(sample.Index) == 0 {
		for i, w := range population.Weights {
			if pi := inclusion(scale, w); rng.Float64() < pi {
				sample.add(int32(i), w, pi/nonEmpty)
			}
		}
	}
}

// inclusion returns min(1, scale·w), and 0 for w = 0 even at an infinite scale.
func inclusion(scale, w float64) float64 {
	if w == 0 {
		return 0
	}
	return min(1, scale*w)
}

// inclusionScale returns c such that Σ min(1, c·w_i) = s over the candidates, or
// +Inf if at most s candidates have a positive weight.
//
// It starts from the solution without the cap at 1. Each pass finds the candidates
// that reach 1, and solves for the others. Their number and c only grow, so the
// passes end at the exact solution, usually after two to four.
func inclusionScale(population *Population, s int) float64 {
	if s >= population.Positive {
		return math.Inf(1)
	}
	scale := float64(s) / population.Total
	for {
		certain, rest := 0, 0.0
		for _, w := range population.Weights {
			if scale*w >= 1 {
				certain++
			} else {
				rest += w
			}
		}
		next := float64(s-certain) / rest
		if !(next > scale) {
			return scale
		}
		scale = next
	}
}
