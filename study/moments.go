package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Moments are the mean, variances and covariances of the factors β that an
// estimator gives its candidates, β_i counting as 0 where i is not drawn.
type Moments struct {
	Mean []float64   // E[β_i]; 1 for every candidate where the estimator is unbiased
	Cov  [][]float64 // Cov(β_i, β_j); Var(β_i) on the diagonal
}

// draws describes samples of size candidates that have positive weights. Moments are taken of the
// watched candidates.
type draws struct {
	population *samplers.Population
	size       int
	Estimator
	replaced bool      // a candidate can be drawn again
	at       []int32   // for each candidate 1 + its index among the watched ones, or 0
	p        []float64 // probabilities of the watched candidates

	theorem *recursion // nil: its moments are not needed
}

// newDraws checks the arguments.
func newDraws(weights []float64, s int, e Estimator, watch []int32) (*draws, error) {
	if argument.Nil(e.Draw) || argument.Nil(e.Weight) {
		return nil, errors.New("study: moments need a draw and a weight")
	}
	if err := e.Weight.Check(e.Draw); err != nil {
		return nil, err
	}
	if e.Weight == (samplers.RaoBlackwellised{}) && s > samplers.MostUnordered {
		return nil, fmt.Errorf("study: rao-blackwell weights of %d draws, want at most %d", s, samplers.MostUnordered)
	}
	if s < 1 || s > len(weights) {
		return nil, fmt.Errorf("study: %d draws from %d candidates, want 1 to %d", s, len(weights), len(weights))
	}
	weights, err := drawableWeights(weights)
	if err != nil {
		return nil, err
	}
	p := &samplers.Population{Weights: weights, Positive: len(weights)}
	for _, w := range weights {
		p.Total += w
	}
	d := &draws{population: p, size: s, Estimator: e, at: make([]int32, len(weights))}
	_, d.replaced = e.Draw.(samplers.WithReplacement)
	for k, i := range watch {
		d.at[i] = int32(k) + 1
		d.p = append(d.p, weights[i]/p.Total)
	}
	return d, nil
}

// tally holds means over samples, for the watched candidates.
type tally struct {
	Moments           // Cov has the means of β_iβ_j
	theorem *Moments  // by the recursion of the paper's theorem; 0 without it
	printed []float64 // Var(β_i) by the recursion as it is printed
}

func newMoments(n int) *Moments {
	m := &Moments{Mean: make([]float64, n)}
	for range n {
		m.Cov = append(m.Cov, make([]float64, n))
	}
	return m
}

func (d *draws) newTally() *tally {
	n := len(d.p)
	return &tally{*newMoments(n), newMoments(n), make([]float64, n)}
}

// add counts a sample with its probability.
func (d *draws) add(t *tally, probability float64, sample *samplers.Sample) {
	all := make([]float64, len(sample.Index))
	d.Weight.Weigh(d.population, sample, all)
	var watched []int32 // that the sample holds, and their factors
	var beta []float64
	for k, i := range sample.Index {
		if at := d.at[i] - 1; at >= 0 {
			watched, beta = append(watched, at), append(beta, all[k])
		}
	}
	for k, i := range watched {
		t.Mean[i] += probability * beta[k]
		for l, j := range watched {
			t.Cov[i][j] += probability * beta[k] * beta[l]
		}
	}
	if d.theorem != nil {
		d.theorem.add(t, d, probability, sample)
	}
}

// mostOutcomes is the largest number of outcomes that are enumerated.
const mostOutcomes = 2_000_000

// Enumerate returns the exact moments of β under s draws from candidates with the
// given positive weights. It visits every outcome of the draw. It knows draws with
// replacement (m^s sequences) and weighted random sampling without replacement
// (m!/(m−s)! sequences). Any other draw is an error, and so are more than 2 million
// outcomes, or rank-conditioned weights, which depend on the keys behind a draw.
func Enumerate(weights []float64, s int, draw samplers.Draw, weight samplers.Weight) (*Moments, error) {
	all := evenlySpaced(make([]float64, len(weights)), len(weights))
	d, err := newDraws(weights, s, Estimator{Draw: draw, Weight: weight}, all)
	if err != nil {
		return nil, err
	}
	if n := d.outcomes(); !(n <= mostOutcomes) {
		return nil, fmt.Errorf("study: draw %T, weight %T, %d draws from %d candidates: %.3g outcomes, want a known number up to %d", draw, weight, s, len(weights), n, mostOutcomes)
	}
	m, err := d.measure(context.Background(), 0, 0, 1)
	if err != nil {
		return nil, err
	}
	return m.moments(), nil
}

// outcomes returns the number of sequences of draws, or NaN if their law is not known.
func (d *draws) outcomes() float64 {
	_, byKeys := d.Weight.(samplers.Rank)
	if _, ordered := d.Draw.(samplers.WithoutReplacement); byKeys || !ordered && !d.replaced {
		return math.NaN()
	}
	n, m := 1.0, float64(len(d.at))
	for range d.size {
		if n *= m; !d.replaced {
			m--
		}
	}
	return n
}

// enumerate adds all outcomes whose first draws are the sample, which has the given probability.
func (d *draws) enumerate(t *tally, drawn int, sample samplers.Sample, probability float64) {
	if drawn == d.size {
		d.add(t, probability, &sample)
		return
	}
	var left float64 // the weight that the next draw is from
	for i, w := range d.population.Weights {
		if d.replaced || !slices.Contains(sample.Index, int32(i)) {
			left += w
		}
	}
	for i, w := range d.population.Weights {
		next, at := sample, slices.Index(sample.Index, int32(i))
		switch {
		case at < 0:
			next.Index, next.Weight = append(sample.Index, int32(i)), append(sample.Weight, w)
			if d.replaced {
				next.Count = append(sample.Count, 1)
			} else {
				next.Remaining = append(sample.Remaining, left)
			}
		case d.replaced:
			next.Count = slices.Clone(sample.Count)
			next.Count[at]++
		default:
			continue
		}
		d.enumerate(t, drawn+1, next, probability*w/left)
	}
}

// simulate adds the draws numbered first, first+step, … of repeats.
func (d *draws) simulate(ctx context.Context, t *tally, first, step, repeats int, seed uint64) error {
	var sample samplers.Sample
	count := (repeats - first + step - 1) / step
	for k := first; k < repeats; k += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.Draw.Draw(rand.New(samplers.NewSource(seed, 0, uint64(k))), d.population, d.size, &sample)
		d.add(t, 1/float64(count), &sample)
	}
	return nil
}

// measured are the exact means over all outcomes, or independent estimates of them from parts of
// the draws.
type measured struct {
	p       []float64 // probabilities of the watched candidates
	parts   []*tally
	exact   bool
	repeats float64 // draws; +Inf if exact
}

// measure enumerates the outcomes, or simulates draws in the given number of parts if there are too
// many outcomes. The number is fixed, so that sums do not depend on the number of cores.
func (d *draws) measure(ctx context.Context, repeats int, seed uint64, parts int) (*measured, error) {
	m := &measured{p: d.p, exact: d.outcomes() <= mostOutcomes, repeats: float64(repeats)}
	if parts = min(parts, repeats); m.exact {
		parts, m.repeats = 1, math.Inf(1)
	}
	n := int64(len(d.p)) // a tally has two matrices, and the means as many
	if err := memory.Check(fmt.Sprintf("study: covariances of %d candidates", n), memory.Product(16, int64(parts)+1, n, n)); err != nil {
		return nil, err
	}
	for range parts {
		m.parts = append(m.parts, d.newTally())
	}
	if m.exact {
		d.enumerate(m.parts[0], 0, samplers.Sample{Draws: d.size}, 1)
		return m, nil
	}
	return m, parallel.Chunks(ctx, parts, func(k int) error { return d.simulate(ctx, m.parts[k], k, parts, repeats, seed) })
}

// mean returns the means of the parts' moments.
func (m *measured) mean(of func(*tally) *Moments) *Moments {
	mean, share := newMoments(len(m.p)), 1/float64(len(m.parts))
	for _, t := range m.parts {
		floats.AddScaled(mean.Mean, share, of(t).Mean)
		for i, row := range of(t).Cov {
			floats.AddScaled(mean.Cov[i], share, row)
		}
	}
	return mean
}

// moments returns the moments over all parts.
func (m *measured) moments() *Moments {
	moments := m.mean(func(t *tally) *Moments { return &t.Moments })
	for i, row := range moments.Cov {
		floats.AddScaled(row, -moments.Mean[i], moments.Mean)
	}
	return moments
}
