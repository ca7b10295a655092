package samplers

import (
	"fmt"
	"math/rand/v2"
)

// Draw picks candidates at random. Implementations are read-only in use.
type Draw interface {
	// Draw picks s candidates of population, 0 < s ≤ population.Positive (or more
	// of a WithReplacement), and describes them in sample, whose memory it
	// reuses. It may pick fewer or more where it says so, but each only once: a
	// block's input nodes are distinct.
	Draw(rng *rand.Rand, population *Population, s int, sample *Sample)
}

// Population is what a draw picks from: candidates 0 … len(Weights)-1 with their
// unnormalised probabilities. It is read-only for draws.
type Population struct {
	Weights  []float64 // finite, ≥ 0; candidates of weight 0 are never drawn
	Total    float64   // Σ Weights
	Positive int       // m, the number of candidates with positive weight

	table *aliasTable // set where the weights serve many draws
}

// Sample describes what a draw picked. Index, Weight and the sums serve every
// weight; a field that a draw cannot fill is left empty.
type Sample struct {
	Index  []int32   // candidates picked, distinct, in the order of their (first) draw
	Weight []float64 // their unnormalised probabilities
	Draws  int       // number of draws made, repeats counted

	// Count holds how often each was drawn, with replacement; else empty.
	Count []int32

	// Remaining holds R_j, the total weight not yet drawn before draw j, for
	// draws without replacement in order; else empty.
	Remaining []float64

	// Threshold is the smallest exponential key (rate: unnormalised weight) not
	// picked, +Inf if all were; 0 where the draw is not by keys, see
	// WithoutReplacement.Keys.
	Threshold float64

	// Inclusion holds π_i, the probability that the candidate is in the sample,
	// for draws where it is known; else empty.
	Inclusion []float64

	scratch drawScratch
}

// check reports a sample that is none of the population's: draws may be anyone's.
func (s *Sample) check(draw Draw, population *Population) error {
	m := len(population.Weights)
	for j, i := range s.Index {
		if i < 0 || int(i) >= m {
			return fmt.Errorf("samplers: %T picked candidate %d as number %d, outside [0, %d)", draw, i, j, m)
		}
	}
	return nil
}

// drawScratch is memory that draws reuse.
type drawScratch struct {
	keys    []float64
	entries []keyed
	sorted  []keyed
	counts  []int32
	set     indexSet
	sums    []float64
	law     inversion
}

// categorical draws an index with probability proportional to its weight.
type categorical interface {
	draw(rng *rand.Rand) int32
}

// law returns the population's law: its alias table where it has one, else built
// for once in scratch, in O(m).
func (p *Population) law(scratch *drawScratch) categorical {
	if p.table != nil {
		return p.table
	}
	scratch.law.build(p.Weights)
	return &scratch.law
}

// reset empties s, keeping its memory.
func (s *Sample) reset() {
	s.Index, s.Weight = s.Index[:0], s.Weight[:0]
	s.Count, s.Remaining, s.Inclusion = s.Count[:0], s.Remaining[:0], s.Inclusion[:0]
	s.Draws, s.Threshold = 0, 0
}

// resize returns s with length n, in the same memory where it fits; what it
// holds is unspecified.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}
