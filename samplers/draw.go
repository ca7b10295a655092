package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Draw picks candidates at random. Implementations are read-only in use.
type Draw interface {
	// Draw picks s candidates of population and describes them in sample, whose
	// memory it reuses. 0 < s ≤ population.Positive, but a WithReplacement may
	// get a larger s. An implementation may document that it picks fewer or more
	// than s candidates. It picks each candidate only once, because the input
	// nodes of a block are distinct.
	Draw(rng *rand.Rand, population *Population, s int, sample *Sample)
}

// Population is the candidates of a draw, numbered 0 … len(Weights)-1, with their
// unnormalised probabilities. Draws do not change it.
type Population struct {
	Weights  []float64 // finite, ≥ 0; candidates of weight 0 are never drawn
	Total    float64   // Σ Weights
	Positive int       // m, the number of candidates with positive weight

	table aliasTable // nil unless the weights serve many batches
}

// Sample describes the candidates picked by a draw. Every draw sets Index, Weight
// and Draws; it leaves a field empty, or 0, that it cannot fill.
type Sample struct {
	Index  []int32   // candidates picked, distinct, in the order of their (first) draw
	Weight []float64 // their unnormalised probabilities
	Draws  int       // number of draws, repeats counted

	// Count holds the number of draws of each candidate picked, for draws with
	// replacement; else empty.
	Count []int32

	// Remaining holds R_j, the total weight not yet drawn before draw j, for
	// ordered draws without replacement; else empty.
	Remaining []float64

	// Threshold is the smallest exponential key of a candidate not picked, +Inf if
	// all are picked, after a draw with WithoutReplacement.Keys. The rate of a
	// candidate's key is its unnormalised weight. Without Keys it has no meaning.
	Threshold float64

	// Inclusion holds π_i, the probability that the candidate is in the sample,
	// for draws with known π_i; else empty.
	Inclusion []float64

	factor []float64 // β of each candidate picked

	// Memory for draws and weights to reuse.
	entries []keyed
	order   []int32
	set     nodeTable // of the candidates drawn
	sums    []float64
	law     inversion
}

// reset empties s, keeping its memory, for a number of draws.
func (s *Sample) reset(draws int) {
	s.Index, s.Weight, s.factor = s.Index[:0], s.Weight[:0], s.factor[:0]
	s.Count, s.Remaining, s.Inclusion = s.Count[:0], s.Remaining[:0], s.Inclusion[:0]
	s.Draws, s.Threshold = draws, 0
}

// resize gives s the length n, in its memory if that is large enough, and returns it. Its
// contents are unspecified.
func resize[T any](s *[]T, n int) []T {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// fill sets every element of s to v.
func fill[T any](s []T, v T) {
	if len(s) > 0 {
		s[0] = v
	}
	for n := 1; n < len(s); n *= 2 { // copies are faster than a loop over the elements
		copy(s[n:], s[:n])
	}
}

// NewPopulation returns the population of weights, which it keeps. The error names a weight that
// is negative or NaN, or a sum that is not positive and finite.
func NewPopulation(weights []float64) (*Population, error) {
	p := &Population{Weights: weights}
	return p, p.sum()
}

// sum sets Total and Positive from the weights. It returns the error that NewPopulation documents.
func (p *Population) sum() error {
	p.Positive = len(p.Weights)
	for i, w := range p.Weights {
		if !(w > 0) {
			if w != 0 {
				return fmt.Errorf("samplers: candidate %d has weight %v, want at least 0", i, w)
			}
			p.Positive--
		}
	}
	var t0, t1, t2, t3 float64 // four independent sums, for instruction-level parallelism
	rest := p.Weights
	for ; len(rest) >= 4; rest = rest[4:] {
		t0, t1, t2, t3 = t0+rest[0], t1+rest[1], t2+rest[2], t3+rest[3]
	}
	for _, w := range rest {
		t0 += w
	}
	p.Total = (t0 + t1) + (t2 + t3)
	if !(p.Total > 0) || math.IsInf(p.Total, 1) {
		return fmt.Errorf("samplers: the weights of %d candidates sum to %v, want positive and finite", len(p.Weights), p.Total)
	}
	return nil
}

// add appends a candidate of known inclusion probability.
func (s *Sample) add(index int32, weight, inclusion float64) {
	s.Index = append(s.Index, index)
	s.Weight = append(s.Weight, weight)
	s.Inclusion = append(s.Inclusion, inclusion)
}

// probabilities divides the weights by their total, and returns them.
func (p *Population) probabilities() []float64 {
	for i := range p.Weights {
		p.Weights[i] /= p.Total
	}
	return p.Weights
}
