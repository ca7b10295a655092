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
	s := &Moments{Mean: make([]float64, m), Cov: make([][]float64, m)}
	for i := range s.Cov {
		s.Cov[i] = make([]float64, m)
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
	watch, at  []int32  // watched candidates; for each candidate 1 + its index among these, or 0
	moments    *Moments // Cov holds E[β_iβ_j] until finish

	beta  []float64 // of a sample
	index []int32   // watched candidates of a sample
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
	d := &draws{population: p, size: s, draw: draw, weight: weight, watch: watch, at: make([]int32, len(weights))}
	for k, i := range watch {
		if i < 0 || int(i) >= len(weights) || d.at[i] != 0 {
			return nil, fmt.Errorf("study: candidate %d to watch is outside [0, %d) or listed twice", i, len(weights))
		}
		d.at[i] = int32(k) + 1
	}
	return d, nil
}

// add counts a sample with its probability.
func (d *draws) add(probability float64, sample *samplers.Sample) {
	d.beta = slices.Grow(d.beta[:0], len(sample.Index))[:len(sample.Index)]
	d.weight.Weigh(d.population, sample, d.beta)
	d.index = d.index[:0]
	for k, i := range sample.Index {
		if d.at[i] > 0 {
			d.beta[len(d.index)] = d.beta[k]
			d.index = append(d.index, d.at[i]-1)
		}
	}
	for k, i := range d.index {
		d.moments.Mean[i] += probability * d.beta[k]
		for l, j := range d.index {
			d.moments.Cov[i][j] += probability * d.beta[k] * d.beta[l]
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

// mostOutcomes is the largest number of outcomes that Enumerate visits. MonteCarlo
// estimates the moments of larger cases.
const mostOutcomes = 2_000_000

// Enumerate returns the exact moments of β under s draws from candidates with the
// given positive weights. It visits every outcome of the draw. It knows draws with
// replacement (m^s sequences) and weighted random sampling without replacement
// (m!/(m−s)! sequences). The error about any other draw, about more than 2 million
// outcomes, or about rank-conditioned weights, which depend on the keys behind a
// draw, wraps ErrNoLaw.
func Enumerate(weights []float64, s int, draw samplers.Draw, weight samplers.Weight) (*Moments, error) {
	return enumerate(weights, s, draw, weight, nil)
}

// enumerate is Enumerate for the watched candidates.
func enumerate(weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32) (*Moments, error) {
	d, err := newDraws(weights, s, draw, weight, watch)
	if err != nil {
		return nil, err
	}
	_, byKeys := weight.(samplers.Rank)
	_, replacement := draw.(samplers.WithReplacement)
	if _, known := draw.(samplers.WithoutReplacement); byKeys || !known && !replacement {
		return nil, fmt.Errorf("study: draw %T, weight %T: %w", draw, weight, ErrNoLaw)
	}
	outcomes := math.Pow(float64(len(weights)), float64(s))
	for k := 0; k < s && !replacement; k++ {
		outcomes *= float64(len(weights)-k) / float64(len(weights))
	}
	if outcomes > mostOutcomes {
		return nil, fmt.Errorf("study: %.3g outcomes of %d draws from %d candidates, more than %d: %w", outcomes, s, len(weights), mostOutcomes, ErrNoLaw)
	}
	d.moments = newMoments(len(d.watch))
	var sequence []int32
	counts := make([]int32, len(weights)) // draws of each candidate
	left := func() (sum float64) {        // the weight not drawn, from the start to avoid cancellation
		for i, w := range weights {
			if counts[i] == 0 {
				sum += w
			}
		}
		return sum
	}
	sample := &samplers.Sample{Draws: s}
	var extend func(probability, remaining float64) // adds all outcomes that begin with sequence
	extend = func(probability, remaining float64) {
		if len(sequence) == s {
			sample.Index, sample.Weight, sample.Count = sample.Index[:0], sample.Weight[:0], sample.Count[:0]
			picked := sequence
			if replacement {
				picked = picked[:0:0]
				for i, n := range counts {
					if n > 0 {
						picked, sample.Count = append(picked, int32(i)), append(sample.Count, n)
					}
				}
			} else {
				sample.Remaining = slices.Grow(sample.Remaining[:0], s)[:s]
				for k, i := range slices.Backward(sequence) {
					remaining += weights[i]
					sample.Remaining[k] = remaining
				}
			}
			for _, i := range picked {
				sample.Index, sample.Weight = append(sample.Index, i), append(sample.Weight, weights[i])
			}
			d.add(probability, sample)
			return
		}
		for i, w := range weights {
			if counts[i] > 0 && !replacement {
				continue
			}
			sequence = append(sequence, int32(i))
			counts[i]++
			rest := remaining
			if !replacement {
				rest = left()
			}
			extend(probability*w/remaining, rest)
			counts[i]--
			sequence = sequence[:len(sequence)-1]
		}
	}
	extend(1, d.population.Total)
	return d.finish(), nil
}

// MonteCarlo estimates the moments of β, which Enumerate computes exactly, from
// repeated draws. It does so only for the candidates in watch: moment k belongs to
// candidate watch[k]. It takes any draw and weight. Cost: repeats draws, and memory
// quadratic in len(watch).
func MonteCarlo(ctx context.Context, weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32, repeats int, seed uint64) (*Moments, error) {
	d, err := newDraws(weights, s, draw, weight, watch)
	if err != nil {
		return nil, err
	}
	if ctx == nil || repeats < 2 {
		return nil, fmt.Errorf("study: %d Monte-Carlo repeats, want a context and at least 2", repeats)
	}
	d.moments = newMoments(len(d.watch))
	source := samplers.NewSource(seed, 0, 0)
	rng := rand.New(source)
	var sample samplers.Sample
	for r := range repeats {
		if r%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		samplers.Seed(source, seed, 0, uint64(r))
		draw.Draw(rng, d.population, s, &sample)
		d.add(1/float64(repeats), &sample)
	}
	return d.finish(), nil
}

// measuredMoments are exact moments, or independent estimates of them.
type measuredMoments struct {
	groups []*Moments
	exact  bool
}

// measureMoments enumerates the moments of the watched candidates, or estimates them if there
// are too many outcomes. It then shares the repeats between groups of draws, which are
// independent: one a core at a time.
func measureMoments(ctx context.Context, weights []float64, s int, draw samplers.Draw, weight samplers.Weight, watch []int32, repeats, groups int, seed uint64) (*measuredMoments, error) {
	exact, err := enumerate(weights, s, draw, weight, watch)
	if err == nil || !errors.Is(err, ErrNoLaw) {
		return &measuredMoments{[]*Moments{exact}, true}, err
	}
	measured := &measuredMoments{groups: make([]*Moments, groups)}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for g := range measured.groups {
		group.Go(func() (err error) {
			measured.groups[g], err = MonteCarlo(ctx, weights, s, draw, weight, watch, repeats/groups, seed+uint64(g))
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
