package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Estimator is a draw followed by a weight.
type Estimator struct {
	Name   string
	Draw   samplers.Draw
	Weight samplers.Weight
}

// Estimators returns the useful pairs of draw and weight. nodes is the number of
// nodes of the graph, for the debiased weights that count nodes; 0 leaves these
// weights out.
func Estimators(nodes int) []Estimator {
	wrs := samplers.WithoutReplacement{Keys: true} // rank-conditioned weights need the keys
	all := []Estimator{
		{"replacement, naive", samplers.WithReplacement{}, samplers.Naive{}},
		{"wrs, naive", wrs, samplers.Naive{}},
		{"wrs, debiased", wrs, samplers.Debiased{}},
		{"wrs, debiased, n = nodes", wrs, samplers.Debiased{Population: nodes}},
		{"wrs, rank", wrs, samplers.Rank{}},
		{"wrs, sum-and-sample", wrs, samplers.SumAndSample{}},
		{"poisson, horvitz-thompson", samplers.Poisson{}, samplers.HorvitzThompson{}},
		{"systematic, horvitz-thompson", samplers.Systematic{}, samplers.HorvitzThompson{}},
	}
	if nodes == 0 {
		return slices.Delete(all, 3, 4)
	}
	return all
}

// Variance studies the factors β that estimators give the candidates of one
// layer: their mean, variance and covariance, and the bounds of the paper's theorem
// on variance,
//
//	Var(β_i) ≤ (1/p_i − 1)/s,  |Cov(β_i, β_j)| ≤ 1/s,
//
// which it proves for averages with α_k = 1/k (n = ∞). Small layers are enumerated.
// On larger ones, moments of the watched candidates are estimated.
type Variance struct {
	Weights    []float64 // unnormalised probabilities of the candidates, positive; required
	Sizes      []int     // numbers of draws; required
	Estimators []Estimator

	Watch   int    `default:"32" least:"1"`    // candidates watched, spread evenly over the weights' order
	Repeats int    `default:"20000" least:"2"` // Monte-Carlo draws
	Seed    uint64 // of the draws

	Progress func(done, total int) // called before each row, if not nil
}

// VarianceRow is one estimator at one number of draws. Maxima are over the watched
// candidates.
type VarianceRow struct {
	Estimator string `json:"estimator" show:"draw, weight"`
	Samples   int    `json:"samples" show:"draws"`
	Exact     bool   `json:"exact"` // by enumeration, not from draws

	Bias          float64 `json:"bias" show:"bias|%.2g"`                // max |E β_i − 1|
	VarOverBound  float64 `json:"var_over_bound" show:"Var/bound|%.3f"` // max Var(β_i) / bound
	CovOverBound  float64 `json:"cov_over_bound" show:"Cov/bound|%.3f"` // max |Cov(β_i, β_j)| / bound
	LargestCov    float64 `json:"largest_cov"`                          // max Cov(β_i, β_j); at most 0 in the theorem
	MeanVar       float64 `json:"mean_var" show:"mean Var|%.4g"`        // mean of Var(β_i)
	MeanSquare    float64 `json:"mean_square" show:"mean E(β−1)²|%.4g"` // mean of E(β_i − 1)², bias included
	MeanVarBound  float64 `json:"mean_var_bound"`                       // mean of the bounds
	CovWithin     bool    `json:"cov_within"`                           // all bounds of covariances hold; estimates to within five standard errors
	WithinTheorem bool    `json:"within_theorem" show:"in bounds"`      // these, and all bounds of variances

	Candidates []CandidateMoments `json:"candidates"`
}

// CandidateMoments are the moments of one candidate's factor.
type CandidateMoments struct {
	P     float64 `json:"p"`
	Mean  float64 `json:"mean"`
	Var   float64 `json:"var"`
	Bound float64 `json:"var_bound"`
}

// VarianceTable is the outcome of a Variance study.
type VarianceTable struct {
	Rows       []VarianceRow `json:"rows"`
	Candidates int           `json:"population"` // m
	Repeats    int           `json:"repeats"`    // of Monte-Carlo rows
	Seed       uint64        `json:"seed"`
}

// Run studies every estimator at every size up to the number of candidates. It
// returns an error if weights are not positive, or so far apart that their shares
// or the squares of these round to 0.
func (v Variance) Run(ctx context.Context) (*VarianceTable, error) {
	if len(v.Weights) == 0 || len(v.Sizes) == 0 {
		return nil, errors.New("study: variance needs candidates and numbers of draws")
	}
	if err := setDefaults(&v); err != nil {
		return nil, err
	}
	if v.Estimators == nil {
		v.Estimators = Estimators(0)
	}
	if slices.Min(v.Sizes) > len(v.Weights) {
		return nil, fmt.Errorf("study: %d draws or more from %d candidates, want at most as many", slices.Min(v.Sizes), len(v.Weights))
	}
	t := &VarianceTable{Candidates: len(v.Weights), Repeats: v.Repeats, Seed: v.Seed}
	watch := evenlySpaced(v.Weights, v.Watch)
	for k, e := range v.Estimators {
		for j, s := range v.Sizes {
			report(v.Progress, k*len(v.Sizes)+j, len(v.Estimators)*len(v.Sizes))
			if s > len(v.Weights) {
				continue
			}
			d, err := newDraws(v.Weights, s, e, watch)
			if err != nil {
				return nil, err
			}
			measured, err := d.measure(ctx, v.Repeats, v.Seed, 16)
			if err != nil {
				return nil, err
			}
			row := VarianceRow{Estimator: e.Name, Samples: s, Exact: measured.exact}
			row.compare(measured.moments(), d.p, measured.repeats)
			t.Rows = append(t.Rows, row)
		}
	}
	return t, nil
}

// drawableWeights returns weights that can be drawn by keys: the given ones, or if these
// are tiny, multiples of them. Only ratios matter. The error names weights that are not
// positive, or too far apart.
func drawableWeights(weights []float64) ([]float64, error) {
	const widest = 1e100
	least, most := slices.Min(weights), slices.Max(weights)
	if !(least > 0) || !(most/least <= widest) || math.IsInf(most*float64(len(weights)), 0) {
		return nil, fmt.Errorf("study: weights from %v to %v, want positive weights, at most a factor of %v apart, with a finite sum", least, most, widest)
	}
	if most >= 1/widest {
		return weights, nil
	}
	weights = slices.Clone(weights)
	for i := range weights {
		weights[i] /= most
	}
	return weights, nil
}

// compare fills the row from the moments of candidates with probabilities p. It compares the moments
// with the bounds of the theorem: the variances (1/p_i − 1)/s, which leave out a candidate of
// p_i = 1, and the covariances 1/s. The moments are estimated from the given number of draws, +Inf
// if they are exact. An estimate may be above its bound by five standard errors: of about
// Var·√(1/(π·repeats)) for a variance, with π ≤ s·p the share of draws that contain the candidate,
// and of about √(Var_i·Var_j/repeats) for a covariance.
func (r *VarianceRow) compare(m *Moments, p []float64, repeats float64) {
	const rounding = 1e-9
	s, n := float64(r.Samples), float64(len(p))
	r.LargestCov, r.CovWithin = math.Inf(-1), true
	variances := true
	for i, row := range m.Cov {
		c := CandidateMoments{
			P:     p[i],
			Mean:  m.Mean[i],
			Var:   max(row[i], 0),
			Bound: (1/p[i] - 1) / s,
		}
		for j, cov := range row {
			noise := 5 * math.Sqrt(math.Abs(row[i]*m.Cov[j][j])/repeats)
			if i == j {
				noise /= math.Sqrt(min(1, s*p[i]))
				variances = variances && cov-noise <= c.Bound+rounding
				continue
			}
			r.CovOverBound, r.LargestCov = max(r.CovOverBound, math.Abs(cov)*s), max(r.LargestCov, cov)
			r.CovWithin = r.CovWithin && math.Abs(cov)-noise <= 1/s+rounding
		}
		if c.Bound > 0 {
			r.VarOverBound = max(r.VarOverBound, row[i]/c.Bound)
		}
		r.Bias = max(r.Bias, math.Abs(c.Mean-1))
		r.MeanVar += c.Var / n
		r.MeanVarBound += c.Bound / n
		r.MeanSquare += (c.Var + (c.Mean-1)*(c.Mean-1)) / n
		r.Candidates = append(r.Candidates, c)
	}
	r.WithinTheorem = variances && r.CovWithin
}

// evenlySpaced returns at most n candidates. Their ranks in the order of the weights
// are evenly spaced, and both ends are included, lightest first.
func evenlySpaced(weights []float64, n int) []int32 {
	order := make([]int, len(weights))
	floats.ArgsortStable(slices.Clone(weights), order)
	if n = min(n, len(order)); n == 1 {
		return []int32{int32(order[len(order)/2])}
	}
	picked := make([]int32, n)
	for k := range picked {
		picked[k] = int32(order[k*(len(order)-1)/(n-1)])
	}
	return picked
}

// LayerWeights returns the unnormalised probabilities of a layer's candidates,
// given its rows: ‖QP^[i]‖, or ‖QP^[i]‖² as in LADIES. Rows are nodes of the graph.
func LayerWeights(p *graph.Laplacian, rows []int32, squared bool) []float64 {
	walk := newColumnWalk(p)
	walk.walk(rows)
	if squared {
		floats.Mul(walk.norms, walk.norms)
	}
	return walk.norms
}
