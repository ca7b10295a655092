package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/floats"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Moments are the mean, variances and covariances of the factors β that an
// estimator gives its candidates, β_i counting as 0 where i is not drawn.
type Moments struct {
	Mean []float64   // E[β_i]; 1 for every candidate where the estimator is unbiased
	Cov  [][]float64 // Cov(β_i, β_j); Var(β_i) on the diagonal
}

// centre turns means of the products β_iβ_j in Cov into covariances.
func (m *Moments) centre() *Moments {
	for i, row := range m.Cov {
		for j := range row {
			row[j] -= m.Mean[i] * m.Mean[j]
		}
	}
	return m
}

// draws describes samples of size candidates that have positive weights. Moments are taken of the
// watched candidates.
type draws struct {
	population *samplers.Population
	size       int
	Estimator
	at []int32   // for each candidate 1 + its index among the watched ones, or 0
	p  []float64 // probabilities of the watched candidates
}

// newDraws checks the arguments. A nil watch means all candidates.
func newDraws(weights []float64, s int, e Estimator, watch []int32) (*draws, error) {
	if argument.Nil(e.Draw) || argument.Nil(e.Weight) {
		return nil, errors.New("study: moments need a draw and a weight")
	}
	if err := e.Weight.Check(e.Draw); err != nil {
		return nil, err
	}
	p := &samplers.Population{Weights: weights, Positive: len(weights)}
	for i, w := range weights {
		if !(w > 0) || math.IsInf(w, 1) {
			return nil, fmt.Errorf("study: candidate %d has weight %v, want positive and finite", i, w)
		}
		p.Total += w
	}
	if s < 1 || s > len(weights) {
		return nil, fmt.Errorf("study: %d draws from %d candidates, want 1 to %d", s, len(weights), len(weights))
	}
	if watch == nil {
		watch = evenlySpaced(make([]float64, len(weights)), len(weights))
	}
	n := int64(len(watch))
	if err := memory.Check(fmt.Sprintf("study: covariances of %d candidates", n), memory.Product(8, 1+simulatedParts, n, n)); err != nil {
		return nil, err
	}
	d := &draws{population: p, size: s, Estimator: e, at: make([]int32, len(weights))}
	for k, i := range watch {
		d.at[i] = int32(k) + 1
		d.p = append(d.p, weights[i]/p.Total)
	}
	return d, nil
}

// newMoments returns moments of 0 of the watched candidates.
func (d *draws) newMoments() *Moments {
	m := &Moments{Mean: make([]float64, len(d.p))}
	for range d.p {
		m.Cov = append(m.Cov, make([]float64, len(d.p)))
	}
	return m
}

// add counts a sample with its probability: β_i in Mean, and β_iβ_j in Cov.
func (d *draws) add(m *Moments, probability float64, sample *samplers.Sample) {
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
		m.Mean[i] += probability * beta[k]
		for l, j := range watched {
			m.Cov[i][j] += probability * beta[k] * beta[l]
		}
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
	d, err := newDraws(weights, s, Estimator{Draw: draw, Weight: weight}, nil)
	if err != nil {
		return nil, err
	}
	if n := d.outcomes(); !(n <= mostOutcomes) {
		return nil, fmt.Errorf("study: draw %T, weight %T, %d draws from %d candidates: %.3g outcomes, want a known number up to %d", draw, weight, s, len(weights), n, mostOutcomes)
	}
	m, _, err := d.measure(context.Background(), 0, 0)
	return m, err
}

// replaced reports whether a candidate can be drawn again.
func (d *draws) replaced() bool {
	_, replaced := d.Draw.(samplers.WithReplacement)
	return replaced
}

// outcomes returns the number of sequences of draws, or NaN if their law is not known.
func (d *draws) outcomes() float64 {
	_, byKeys := d.Weight.(samplers.Rank)
	if _, ordered := d.Draw.(samplers.WithoutReplacement); byKeys || !ordered && !d.replaced() {
		return math.NaN()
	}
	n, m := 1.0, float64(len(d.at))
	for k := range d.size {
		if n *= m; !d.replaced() {
			n *= (m - float64(k)) / m
		}
	}
	return n
}

// enumerate adds all outcomes whose first draws are the sample, which has the given probability.
func (d *draws) enumerate(m *Moments, drawn int, sample samplers.Sample, probability float64) {
	if drawn == d.size {
		d.add(m, probability, &sample)
		return
	}
	held := make([]int, len(d.at)) // 1 + the place in the sample, or 0
	for k, i := range sample.Index {
		held[i] = k + 1
	}
	var left float64 // the weight that the next draw is from
	for i, w := range d.population.Weights {
		if d.replaced() || held[i] == 0 {
			left += w
		}
	}
	for i, w := range d.population.Weights {
		next := sample
		switch {
		case held[i] == 0:
			next.Index, next.Weight = append(sample.Index, int32(i)), append(sample.Weight, w)
			if d.replaced() {
				next.Count = append(sample.Count, 1)
			} else {
				next.Remaining = append(sample.Remaining, left)
			}
		case d.replaced():
			next.Count = slices.Clone(sample.Count)
			next.Count[held[i]-1]++
		default:
			continue
		}
		d.enumerate(m, drawn+1, next, probability*w/left)
	}
}

// simulate adds the draws numbered first, first+step, … of repeats.
func (d *draws) simulate(ctx context.Context, m *Moments, first, step, repeats int, seed uint64) error {
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var sample samplers.Sample
	for k := first; k < repeats; k += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		samplers.Seed(source, seed, 0, uint64(k))
		d.Draw.Draw(rng, d.population, d.size, &sample)
		d.add(m, 1/float64(repeats), &sample)
	}
	return nil
}

// simulatedParts is the number of parts of simulated draws. It is fixed, so that sums do not
// depend on the number of cores.
const simulatedParts = 16

// measure enumerates the outcomes, or simulates draws if there are too many outcomes. It reports
// whether the moments are exact.
func (d *draws) measure(ctx context.Context, repeats int, seed uint64) (m *Moments, exact bool, err error) {
	m = d.newMoments()
	if d.outcomes() <= mostOutcomes {
		d.enumerate(m, 0, samplers.Sample{Draws: d.size}, 1)
		return m.centre(), true, nil
	}
	parts := make([]*Moments, simulatedParts)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k := range parts {
		parts[k] = d.newMoments()
		group.Go(func() error { return d.simulate(ctx, parts[k], k, len(parts), repeats, seed) })
	}
	if err := group.Wait(); err != nil {
		return nil, false, err
	}
	for _, part := range parts {
		floats.Add(m.Mean, part.Mean)
		for i, row := range part.Cov {
			floats.Add(m.Cov[i], row)
		}
	}
	return m.centre(), false, nil
}
