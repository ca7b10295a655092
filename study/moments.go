package study

import (
	"context"
	"errors"
	"math"
	"runtime"

	"golang.org/x/sync/errgroup"

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

// add counts one outcome with its probability and the factors of the drawn
// candidates. Until finish is called, Cov holds E[β_iβ_j].
func (s *Moments) add(probability float64, index []int32, beta []float64) {
	for k, i := range index {
		s.Mean[i] += probability * beta[k]
		for l, j := range index {
			s.Cov[i][j] += probability * beta[k] * beta[l]
		}
	}
}

// finish turns second moments into covariances.
func (s *Moments) finish() {
	for i := range s.Cov {
		for j := range s.Cov[i] {
			s.Cov[i][j] -= s.Mean[i] * s.Mean[j]
		}
	}
}

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
	var most float64
	for i := range s.Cov {
		for j := range s.Cov[i] {
			if i != j {
				most = max(most, math.Abs(s.Cov[i][j])*float64(draws))
			}
		}
	}
	return most
}

// LargestCovariance returns the largest Cov(β_i, β_j) of two candidates, or -Inf
// if there are fewer than two.
func (s *Moments) LargestCovariance() float64 {
	most := math.Inf(-1)
	for i := range s.Cov {
		for j := range s.Cov[i] {
			if i != j {
				most = max(most, s.Cov[i][j])
			}
		}
	}
	return most
}

// subset returns the moments of the listed candidates, in that order.
func (s *Moments) subset(watch []int32) *Moments {
	t := newMoments(len(watch))
	for k, i := range watch {
		t.Mean[k] = s.Mean[i]
		for l, j := range watch {
			t.Cov[k][l] = s.Cov[i][j]
		}
	}
	return t
}

// aboutOne returns E(β_i − 1)(β_j − 1). It is the covariance if E β = 1, and needs no
// estimate of the mean.
func (s *Moments) aboutOne(i, j int) float64 {
	return s.Cov[i][j] + (s.Mean[i]-1)*(s.Mean[j]-1)
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
	exact, err := Enumerate(weights, s, draw, weight)
	if err == nil {
		return &measuredMoments{[]*Moments{exact.subset(watch)}, true}, nil
	}
	if !errors.Is(err, ErrNoLaw) {
		return nil, err
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
