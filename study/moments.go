package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Moments are the mean, variances and covariances of the factors β that an
// estimator gives its candidates, β_i counting as 0 where i is not drawn.
type Moments struct {
	Mean []float64   // E[β_i]; 1 for every candidate where the estimator is unbiased
	Cov  [][]float64 // Cov(β_i, β_j); Var(β_i) on the diagonal
}

// newMoments returns the zero moments of m candidates.
func newMoments(m int) *Moments {
	s := &Moments{Mean: make([]float64, m)}
	for range m {
		s.Cov = append(s.Cov, make([]float64, m))
	}
	return s
}

// Var returns Var(β_i).
func (s *Moments) Var(i int) float64 { return s.Cov[i][i] }

// LargestBias returns max |E[β_i] − 1|.
func (s *Moments) LargestBias() float64 {
	var most float64
	for _, v := range s.Mean {
		most = max(most, math.Abs(v-1))
	}
	return most
}

// VarianceOverBound returns the largest ratio of Var(β_i) to the bound of the
// paper's theorem for s draws, (1/p_i − 1)/s. The probabilities p sum to 1. A
// candidate with p_i = 1 has no bound and is left out.
func (s *Moments) VarianceOverBound(p []float64, draws int) float64 {
	var most float64
	for i := range p {
		if bound := (1/p[i] - 1) / float64(draws); bound > 0 {
			most = max(most, s.Var(i)/bound)
		}
	}
	return most
}

// CovarianceOverBound returns the largest ratio of |Cov(β_i, β_j)|, i ≠ j, to
// the bound of the paper's theorem, 1/s.
func (s *Moments) CovarianceOverBound(draws int) float64 {
	return max(0, s.largest(func(cov float64) float64 { return math.Abs(cov) * float64(draws) }))
}

// LargestCovariance returns the largest Cov(β_i, β_j) of two candidates, or -Inf
// if there are fewer than two.
func (s *Moments) LargestCovariance() float64 {
	return s.largest(func(cov float64) float64 { return cov })
}

// largest returns the largest value of the covariances of two candidates.
func (s *Moments) largest(of func(cov float64) float64) float64 {
	most := math.Inf(-1)
	for i := range s.Cov {
		for j, cov := range s.Cov[i] {
			if i != j {
				most = max(most, of(cov))
			}
		}
	}
	return most
}

// aboutOne returns E(β_i − 1)(β_j − 1). It is the covariance if E β = 1, and needs no
// estimate of the mean.
func (s *Moments) aboutOne(i, j int) float64 {
	return s.Cov[i][j] + (s.Mean[i]-1)*(s.Mean[j]-1)
}

// draws are s draws from candidates of positive weights, and the moments of the factors of
// the watched candidates.
type draws struct {
	population *samplers.Population
	size       int
	draw       samplers.Draw
	weight     samplers.Weight
	at         []int32   // for each candidate 1 + its index among the watched ones, or 0
	p          []float64 // probabilities of the watched candidates
	moments    *Moments  // Cov holds E[β_iβ_j] until finish
}

// newDraws checks the arguments. A nil watch means all candidates.
func newDraws(weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32) (*draws, error) {
	if argument.Nil(draw) || argument.Nil(weight) {
		return nil, errors.New("study: moments need a draw and a weight")
	}
	if err := weight.Check(draw); err != nil {
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
	d := &draws{population: p, size: s, draw: draw, weight: weight, at: make([]int32, len(weights))}
	for k, i := range watch {
		d.at[i] = int32(k) + 1
		d.p = append(d.p, weights[i]/p.Total)
	}
	return d.clone(), nil
}

// clone returns the same draws with moments of their own.
func (d *draws) clone() *draws {
	other := *d
	other.moments = newMoments(len(d.p))
	return &other
}

// add counts a sample with its probability.
func (d *draws) add(probability float64, sample *samplers.Sample) {
	all := make([]float64, len(sample.Index))
	d.weight.Weigh(d.population, sample, all)
	var watched []int32 // that the sample holds, and their factors
	var beta []float64
	for k, i := range sample.Index {
		if d.at[i] > 0 {
			watched, beta = append(watched, d.at[i]-1), append(beta, all[k])
		}
	}
	for k, i := range watched {
		d.moments.Mean[i] += probability * beta[k]
		for l, j := range watched {
			d.moments.Cov[i][j] += probability * beta[k] * beta[l]
		}
	}
}

// finish turns second moments into covariances.
func (d *draws) finish() *Moments {
	for i, row := range d.moments.Cov {
		for j := range row {
			row[j] -= d.moments.Mean[i] * d.moments.Mean[j]
		}
	}
	return d.moments
}

// ErrNoLaw is wrapped by the error about a draw whose outcomes cannot be
// enumerated with their probabilities.
var ErrNoLaw = errors.New("no enumerable law")

// mostOutcomes is the largest number of outcomes that Enumerate visits.
const mostOutcomes = 2_000_000

// Enumerate returns the exact moments of β under s draws from candidates with the
// given positive weights. It visits every outcome of the draw. It knows draws with
// replacement (m^s sequences) and weighted random sampling without replacement
// (m!/(m−s)! sequences). The error about any other draw, about more than 2 million
// outcomes, or about rank-conditioned weights, which depend on the keys behind a
// draw, wraps ErrNoLaw.
func Enumerate(weights []float64, s int, draw samplers.Draw, weight samplers.Weight) (*Moments, error) {
	d, err := newDraws(weights, s, draw, weight, nil)
	if err != nil {
		return nil, err
	}
	return d.enumerate()
}

// enumerate is Enumerate for the watched candidates.
func (d *draws) enumerate() (*Moments, error) {
	weights := d.population.Weights
	_, byKeys := d.weight.(samplers.Rank)
	_, replacement := d.draw.(samplers.WithReplacement)
	if _, known := d.draw.(samplers.WithoutReplacement); byKeys || !known && !replacement {
		return nil, fmt.Errorf("study: draw %T, weight %T: %w", d.draw, d.weight, ErrNoLaw)
	}
	outcomes := 1.0
	for k := range d.size {
		if outcomes *= float64(len(weights)); !replacement {
			outcomes *= float64(len(weights)-k) / float64(len(weights))
		}
	}
	if outcomes > mostOutcomes {
		return nil, fmt.Errorf("study: %.3g outcomes of %d draws from %d candidates, more than %d: %w", outcomes, d.size, len(weights), mostOutcomes, ErrNoLaw)
	}
	var sequence []int32
	counts := make([]int32, len(weights)) // draws of each candidate
	sample := &samplers.Sample{Draws: d.size}
	var extend func(probability float64) // adds all outcomes that begin with sequence
	extend = func(probability float64) {
		drawn := len(sequence)
		if drawn == d.size {
			d.addSequence(probability, sequence, counts, sample, replacement)
			return
		}
		var left float64 // the weight that the next draw is from
		for i, w := range weights {
			if replacement || counts[i] == 0 {
				left += w
			}
		}
		if !replacement {
			sample.Remaining = append(sample.Remaining[:drawn], left)
		}
		for i, w := range weights {
			if replacement || counts[i] == 0 {
				sequence = append(sequence[:drawn], int32(i))
				counts[i]++
				extend(probability * w / left)
				counts[i]--
			}
		}
		sequence = sequence[:drawn]
	}
	extend(1)
	return d.finish(), nil
}

// addSequence counts a sequence of draws as the sample that a draw returns.
func (d *draws) addSequence(probability float64, sequence, counts []int32, sample *samplers.Sample, replacement bool) {
	sample.Index, sample.Weight, sample.Count = append(sample.Index[:0], sequence...), sample.Weight[:0], sample.Count[:0]
	if replacement {
		sample.Index = sample.Index[:0]
		for i, n := range counts {
			if n > 0 {
				sample.Index, sample.Count = append(sample.Index, int32(i)), append(sample.Count, n)
			}
		}
	}
	for _, i := range sample.Index {
		sample.Weight = append(sample.Weight, d.population.Weights[i])
	}
	d.add(probability, sample)
}

// simulate estimates the moments from repeated draws, of any draw and weight.
func (d *draws) simulate(ctx context.Context, repeats int, seed uint64) (*Moments, error) {
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var sample samplers.Sample
	for r := range repeats {
		if r%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		samplers.Seed(source, seed, 0, uint64(r))
		d.draw.Draw(rng, d.population, d.size, &sample)
		d.add(1/float64(repeats), &sample)
	}
	return d.finish(), nil
}

// measuredMoments are exact moments, or independent estimates of them.
type measuredMoments struct {
	p      []float64 // probabilities of the candidates
	groups []*Moments
	exact  bool
}

// measureMoments enumerates the moments of the watched candidates, or estimates them if there
// are too many outcomes. It then shares the repeats between groups of draws, which are
// independent: one a core at a time.
func measureMoments(ctx context.Context, weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32, repeats, groups int, seed uint64) (*measuredMoments, error) {
	d, err := newDraws(weights, s, draw, weight, watch)
	if err != nil {
		return nil, err
	}
	exact, err := d.enumerate()
	if err == nil {
		return &measuredMoments{d.p, []*Moments{exact}, true}, nil
	}
	measured := &measuredMoments{p: d.p, groups: make([]*Moments, groups)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for g := range measured.groups {
		group.Go(func() (err error) {
			measured.groups[g], err = d.clone().simulate(ctx, repeats/groups, seed+uint64(g))
			return err
		})
	}
	return measured, group.Wait()
}

// estimate returns a value of the moments and its standard error.
func (m *measuredMoments) estimate(of func(*Moments) float64) (value, se float64) {
	values := make([]float64, len(m.groups))
	for g := range m.groups {
		values[g] = of(m.groups[g])
	}
	spread := NewSpread(values)
	return spread.Mean, spread.SEM
}
