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

// overBounds returns the largest Var(β_i) and |Cov(β_i, β_j)|, i ≠ j, divided by their bounds
// in the paper's theorem for s draws, (1/p_i − 1)/s and 1/s, and the largest Cov(β_i, β_j), -Inf
// if there are fewer than two candidates. The probabilities p sum to 1. A candidate with
// p_i = 1 has no bound and is left out.
func (m *Moments) overBounds(p []float64, s int) (variance, covariance, largest float64) {
	largest = math.Inf(-1)
	for i, row := range m.Cov {
		for j, cov := range row {
			switch bound := (1/p[i] - 1) / float64(s); {
			case i != j:
				covariance, largest = max(covariance, math.Abs(cov)*float64(s)), max(largest, cov)
			case bound > 0:
				variance = max(variance, cov/bound)
			}
		}
	}
	return variance, covariance, largest
}

// draws describes samples of size candidates that have positive weights. Moments are taken of the
// watched candidates.
type draws struct {
	population *samplers.Population
	size       int
	Estimator
	at []int32   // for each candidate 1 + its index among the watched ones, or 0
	p  []float64 // probabilities of the watched candidates

	theorem *recursion // nil: its values are not needed
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
	if err := memory.Check(fmt.Sprintf("study: covariances of %d candidates", n), memory.Product(8, n, n)); err != nil {
		return nil, err
	}
	d := &draws{population: p, size: s, Estimator: e, at: make([]int32, len(weights))}
	for k, i := range watch {
		d.at[i] = int32(k) + 1
		d.p = append(d.p, weights[i]/p.Total)
	}
	return d, nil
}

// tally holds means over samples, for the watched candidates.
type tally struct {
	beta     []float64   // of β_i
	products [][]float64 // of β_iβ_j

	// Of Var(β_i) and Cov(β_i, β_j) by the recursion of the paper's theorem, and of Var(β_i) by
	// the recursion as it is printed; nil without a recursion.
	theorem [][]float64
	printed []float64
}

func (d *draws) newTally() *tally {
	n := len(d.p)
	t := &tally{beta: make([]float64, n), products: matrix(n)}
	if d.theorem != nil {
		t.theorem, t.printed = matrix(n), make([]float64, n)
	}
	return t
}

func matrix(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
	}
	return rows
}

// add counts a sample with its probability.
func (d *draws) add(t *tally, probability float64, sample *samplers.Sample) {
	all := make([]float64, len(sample.Index))
	d.Weight.Weigh(d.population, sample, all)
	var watched []int32 // that the sample holds, and their factors
	var beta []float64
	first := slices.Repeat([]int{d.size - 1}, len(d.p)) // draw of each watched candidate; the last one of those not drawn
	for k, i := range sample.Index {
		if at := d.at[i] - 1; at >= 0 {
			watched, beta = append(watched, at), append(beta, all[k])
			first[at] = k
		}
	}
	for k, i := range watched {
		t.beta[i] += probability * beta[k]
		for l, j := range watched {
			t.products[i][j] += probability * beta[k] * beta[l]
		}
	}
	if d.theorem != nil {
		d.theorem.add(t, d, probability, sample, first)
	}
}

// aboutOne returns E(β_i − 1)(β_j − 1). It is the covariance if E β = 1, and needs no
// estimate of the mean.
func (t *tally) aboutOne(i, j int) float64 { return t.products[i][j] - t.beta[i] - t.beta[j] + 1 }

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
	m, err := d.measure(context.Background(), 0, 0)
	if err != nil {
		return nil, err
	}
	return m.moments(), nil
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
func (d *draws) enumerate(t *tally, drawn int, sample samplers.Sample, probability float64) {
	if drawn == d.size {
		d.add(t, probability, &sample)
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
		d.enumerate(t, drawn+1, next, probability*w/left)
	}
}

// simulate adds repeats draws: those numbered first, first+step, …
func (d *draws) simulate(ctx context.Context, t *tally, first, step, repeats int, seed uint64) error {
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var sample samplers.Sample
	count := (repeats - first + step - 1) / step
	for k := range count {
		if k%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		samplers.Seed(source, seed, 0, uint64(first+k*step))
		d.Draw.Draw(rng, d.population, d.size, &sample)
		d.add(t, 1/float64(count), &sample)
	}
	return nil
}

// simulationGroups is the number of groups of draws that standard errors come from:
// with few of them, a right value is too often far off by its standard error.
const simulationGroups = 100

// measured are the exact means over all outcomes, or independent estimates of them from groups
// of draws.
type measured struct {
	p      []float64 // probabilities of the watched candidates
	groups []*tally
	exact  bool
}

// measure enumerates the outcomes, or simulates draws if there are too many outcomes. Groups
// of draws run one a core at a time.
func (d *draws) measure(ctx context.Context, repeats int, seed uint64) (*measured, error) {
	if d.outcomes() <= mostOutcomes {
		t := d.newTally()
		d.enumerate(t, 0, samplers.Sample{Draws: d.size}, 1)
		return &measured{d.p, []*tally{t}, true}, nil
	}
	m := &measured{p: d.p}
	for range min(simulationGroups, repeats) {
		m.groups = append(m.groups, d.newTally())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for g, t := range m.groups {
		group.Go(func() error { return d.simulate(ctx, t, g, len(m.groups), repeats, seed) })
	}
	return m, group.Wait()
}

// spread returns a value of the groups. Its standard error is 0 if it is exact.
func (m *measured) spread(of func(*tally) float64) Spread {
	values := make([]float64, len(m.groups))
	for g := range m.groups {
		values[g] = of(m.groups[g])
	}
	return NewSpread(values)
}

// mean returns the mean over the groups of each element of a matrix.
func (m *measured) mean(of func(*tally) [][]float64) [][]float64 {
	mean := matrix(len(m.p))
	for i := range mean {
		for j := range mean[i] {
			mean[i][j] = m.spread(func(t *tally) float64 { return of(t)[i][j] }).Mean
		}
	}
	return mean
}

// moments returns the moments over all groups.
func (m *measured) moments() *Moments {
	moments := &Moments{Cov: m.mean(func(t *tally) [][]float64 { return t.products })}
	for i := range m.p {
		moments.Mean = append(moments.Mean, m.spread(func(t *tally) float64 { return t.beta[i] }).Mean)
	}
	for i, row := range moments.Cov {
		for j := range row {
			row[j] -= moments.Mean[i] * moments.Mean[j]
		}
	}
	return moments
}
