package samplers

import (
	"math/rand/v2"
)

// SeedLaw draws the output nodes of mini-batches by importance, and weighs their losses
// so that the batch's loss is an unbiased estimate of the mean loss: the application of
// Algorithm 1 to stochastic gradient descent that Chen et al. (2023) propose in their
// section 7.
//
// A batch is a weighted random sample without replacement. With β the weights of Debiased,
//
//	E[Σ β_i/m · loss_i] = (1/m) Σ loss_i,   m candidates of positive weight,
//
// for any positive weights. Equal weights give the mean over the batch.
//
// A law is read-only: Draw may be called concurrently, each call with its own SeedDraw.
// Memory: 24 bytes a candidate.
type SeedLaw struct {
	population *Population
}

// NewSeedLaw returns the law of candidates 0 … len(weights)−1 with the given unnormalised
// probabilities. Candidates of weight 0 are never drawn and are not part of the mean. The
// law keeps the slice. The error names a weight that is negative or not finite, or says
// that none is positive. Cost: O(len(weights)).
func NewSeedLaw(weights []float64) (*SeedLaw, error) {
	p, err := NewPopulation(weights)
	if err != nil {
		return nil, err
	}
	p.Total = 0 // summed in order: published results depend on its last bits
	for _, w := range weights {
		p.Total += w
	}
	p.table = newAliasTable(weights, p.Total)
	return &SeedLaw{p}, nil
}

// SeedDraw holds the result of a SeedLaw's draw. The zero value is ready; its memory is reused.
type SeedDraw struct {
	Index   []int32   // candidates, distinct, in the order of their draw
	Weights []float32 // of their losses

	sample Sample
}

// Draw draws size candidates, or all of positive weight if there are fewer; none if size is
// negative. Cost: O(size) for a small part of the candidates, else O(candidates).
func (l *SeedLaw) Draw(rng *rand.Rand, size int, d *SeedDraw) {
	WithoutReplacement{}.Draw(rng, l.population, min(max(size, 0), l.population.Positive), &d.sample)
	l.weigh(d)
}

// weigh fills d from its sample.
func (l *SeedLaw) weigh(d *SeedDraw) {
	d.Index = d.sample.Index
	beta, weights := resize(&d.sample.factor, len(d.Index)), resize(&d.Weights, len(d.Index))
	Debiased{}.Weigh(l.population, &d.sample, beta)
	for k, b := range beta {
		weights[k] = float32(b / float64(l.population.Positive))
	}
}
