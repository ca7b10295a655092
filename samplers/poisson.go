package samplers

import (
	"math"
	"math/rand/v2"
)

// Poisson is Poisson sampling: each candidate joins the sample on its own, with
// probability
//
//	π_i = min(1, c·w_i),   c such that Σ π_i = s,
//
// so that s is the expected size (Hájek 1964; for layer-wise sampling Balin &
// Çatalyürek 2023, arXiv:2210.13339, as PLADIES). The size varies with variance
// Σ π_i (1−π_i) < s. An empty sample is of no use to a layer and is drawn again,
// which Sample.Inclusion accounts for: it then holds π_i / (1 − ∏(1−π_j)).
//
// Cost: O(m) a pass over the candidates, one random number each and a few passes
// to find c.
type Poisson struct{}

// Draw implements Draw: at least one candidate, s of them in expectation (but
// for the empty samples drawn again).
func (Poisson) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset()
	sample.Draws = s
	scale := inclusionScale(population, s)
	some := 1 - noneProbability(population, scale, s)
	for len(sample.Index) == 0 {
		for i, w := range population.Weights {
			pi := inclusion(scale, w)
			if rng.Float64() >= pi {
				continue
			}
			sample.Index = append(sample.Index, int32(i))
			sample.Weight = append(sample.Weight, w)
			sample.Inclusion = append(sample.Inclusion, pi/some)
		}
	}
}

// inclusion returns min(1, scale·w), 0 for w = 0 whatever the scale.
func inclusion(scale, w float64) float64 {
	if w == 0 {
		return 0
	}
	return min(1, scale*w)
}

// inclusionScale returns c such that Σ min(1, c·w_i) = s over the candidates, and
// +Inf where there are no more than s of positive weight.
//
// Starting from the solution without the cap, each pass finds which candidates
// reach 1 and solves for the others. Both grow from pass to pass, so it ends at
// the exact solution, mostly after two to four passes.
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

// negligibleNone is an expected size s from which on the probability to draw
// nothing, at most e^−s, is lost beside 1.
const negligibleNone = 40

// noneProbability returns ∏ (1 − π_i), the probability that Poisson sampling
// with expected size s draws nothing, 0 where that is negligible.
func noneProbability(population *Population, scale float64, s int) float64 {
	if s >= negligibleNone {
		return 0
	}
	log := 0.0
	for _, w := range population.Weights {
		log += math.Log1p(-inclusion(scale, w)) // π = 1: −Inf
	}
	return math.Exp(log)
}
