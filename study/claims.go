package study

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/samplers"
)

// Claims compares the paper's statements on variance with exact enumeration where the
// number of outcomes is small, and else with simulation: the theorem on variance and
// covariance of the debiased factors β (Chen et al. 2023, §5.6), corrected and as printed,
// its bounds, and the finite population correction (§5, remark), for the given weights. The n of
// the debiased weights is the number of candidates, and +Inf, for which α = 1/k.
type Claims struct {
	Weights []float64 // unnormalised probabilities of the candidates, positive; required
	Sizes   []int     // numbers of draws; required
	Watch   int       `default:"16" least:"1"`      // candidates compared, spread evenly over the weights' order
	Repeats int       `default:"20000" least:"200"` // simulated draws
	Seed    uint64

	Progress func(done, total int) // called after each of Sizes, if not nil
}

// ClaimRow compares one statement with the measured value. Over several candidates,
// values are means.
type ClaimRow struct {
	Claim    string `json:"claim" show:"claim"`
	Case     string `json:"case" show:"case"` // the n of the weights, or the probabilities
	Samples  int    `json:"samples" show:"draws"`
	Relation string `json:"relation" show:" "` // of Measured to Predicted, as claimed: "=", "≤" or "≥"

	Predicted float64 `json:"predicted" show:"predicted|%.4g"`
	Measured  float64 `json:"measured" show:"measured|%.4g"`
	Exact     bool    `json:"exact"`               // both are exact, and of every candidate
	SE        float64 `json:"se" show:"± se|%.2g"` // standard error of Measured − Predicted; 0 if it is exact or a bound
	Agrees    bool    `json:"agrees" show:"agrees"`
}

// ClaimTable is the outcome of Claims.
type ClaimTable struct {
	Rows       []ClaimRow `json:"rows"`
	Points     []Claimed  `json:"points"`     // of each watched candidate
	Candidates int        `json:"candidates"` // m
	Repeats    int        `json:"repeats"`
	Seed       uint64     `json:"seed"`
}

// Claimed is Var(β) of one candidate.
type Claimed struct {
	Case      string  `json:"case"`
	Samples   int     `json:"samples"`
	P         float64 `json:"p"`
	Predicted float64 `json:"predicted"`
	Printed   float64 `json:"printed"`
	Measured  float64 `json:"measured"`
	SE        float64 `json:"se"`
}

const (
	mostDeviation = 5    // standard errors within which simulated values agree with predicted ones
	exactness     = 1e-7 // largest relative difference of exact values
)

// simulationGroups is the number of groups of draws that standard errors come from:
// with few of them, a right value is too often far off by its standard error.
const simulationGroups = 100

// claimCorrected is the claim about the variance of each candidate.
const claimCorrected = "Var β, corrected recursion"

// Run checks the claims. For each size and n, and once more for each size, it makes
// Repeats draws and runs the recursion for each. A draw costs about O(s + Watch²) operations more than
// the draw itself.
func (c Claims) Run(ctx context.Context) (*ClaimTable, error) {
	if len(c.Weights) == 0 || len(c.Sizes) == 0 {
		return nil, errors.New("study: claims need candidates and numbers of draws")
	}
	if err := setDefaults(&c); err != nil {
		return nil, err
	}
	m := float64(len(c.Weights))
	t := &ClaimTable{Candidates: len(c.Weights), Repeats: c.Repeats, Seed: c.Seed}
	watch := evenlySpaced(c.Weights, c.Watch)
	for k, s := range c.Sizes {
		measure := func(weights []float64, n float64) (*measured, error) {
			weight := samplers.Debiased{Population: int(min(n, 1<<62))} // so large that α_k rounds to 1/k
			d, err := newDraws(weights, s, Estimator{Draw: samplers.WithoutReplacement{}, Weight: weight}, watch)
			if err != nil {
				return nil, err
			}
			d.theorem = newRecursion(s, n)
			return d.measure(ctx, c.Repeats, c.Seed, simulationGroups)
		}
		for k, n := range []float64{m, math.Inf(1)} {
			measured, err := measure(c.Weights, n)
			if err != nil {
				return nil, err
			}
			t.factors(measured, s, []string{"n = m", "n = ∞"}[k])
		}
		if m > 1 {
			equal, err := measure(slices.Repeat([]float64{1}, len(c.Weights)), m)
			if err != nil {
				return nil, err
			}
			t.finitePopulation(equal, s)
		}
		report(c.Progress, k+1, len(c.Sizes))
	}
	return t, nil
}

// factors checks the theorem on variance for s draws.
func (t *ClaimTable) factors(m *measured, s int, name string) {
	add := func(row ClaimRow) { t.add(row, name, s) }
	corrected := func(t *tally, i, j int) float64 { return t.theorem.Cov[i][j] }
	printed := func(t *tally, i, _ int) float64 { return t.printed[i] }
	found := (*tally).aboutOne
	var variances, covariances [][2]int
	for i, p := range m.p {
		at := [2]int{i, i}
		variances = append(variances, at)
		for j := range i {
			covariances = append(covariances, [2]int{i, j})
		}
		predicted, measured, se := m.compare(corrected, found, at)
		asPrinted, _, _ := m.compare(printed, found, at)
		t.Points = append(t.Points, Claimed{
			Case:      name,
			Samples:   s,
			P:         p,
			Predicted: predicted,
			Printed:   asPrinted,
			Measured:  measured,
			SE:        se,
		})
	}
	one := func(*tally, int, int) float64 { return 1 }
	mean := func(t *tally, i, _ int) float64 { return t.Mean[i] }
	add(m.claim("E β = 1", one, mean, variances...))
	add(m.claim(claimCorrected, corrected, found, variances...))
	add(m.claim("Var β, recursion as printed", printed, found, variances...))
	theorem := VarianceRow{Samples: s}
	theorem.compare(m.mean(func(t *tally) *Moments { return t.theorem }), m.p, math.Inf(1))
	bound := func(claim string, most, value float64) {
		add(ClaimRow{Claim: claim, Relation: "≤", Predicted: most, Measured: value, Exact: m.exact, Agrees: value <= most+exactness})
	}
	bound("Var β / ((1/p − 1)/s)", 1, theorem.VarOverBound)
	if len(covariances) > 0 {
		add(m.claim("Cov β", corrected, found, covariances...))
		bound("s·|Cov β|", 1, theorem.CovOverBound)
		bound("largest Cov β", 0, theorem.LargestCov)
	}
}

// finitePopulation compares variances of draws of equal probabilities and n = m with those with
// replacement, (1/p − 1)/s: the ratio is (m−s)/(m−1).
func (t *ClaimTable) finitePopulation(equal *measured, s int) {
	m, draws := float64(t.Candidates), float64(s)
	theory := func(*tally, int, int) float64 { return (m - draws) / (m - 1) }
	ratio := func(t *tally, _, _ int) (sum float64) {
		for i := range equal.p {
			sum += t.aboutOne(i, i) / (float64(len(equal.p)) * (m - 1) / draws)
		}
		return sum
	}
	t.add(equal.claim("finite population: Var β ratio", theory, ratio, [2]int{}), "equal p", s)
}

// add appends a row.
func (t *ClaimTable) add(row ClaimRow, name string, s int) {
	row.Case, row.Samples = name, s
	t.Rows = append(t.Rows, row)
}

// aboutOne returns E(β_i − 1)(β_j − 1). It is the covariance if E β = 1, and needs no
// estimate of the mean.
func (t *tally) aboutOne(i, j int) float64 { return t.Cov[i][j] - t.Mean[i] - t.Mean[j] + 1 }

// moment is a value of a tally for candidates i and j.
type moment func(t *tally, i, j int) float64

// compare returns the means of a predicted and a measured value over the pairs of candidates and
// over the groups, and the standard error of the difference: the same draws give both. It is 0 if
// they are exact.
func (m *measured) compare(predicted, found moment, pairs ...[2]int) (p, q, se float64) {
	mean := func(t *tally, of moment) (sum float64) {
		for _, at := range pairs {
			sum += of(t, at[0], at[1]) / float64(len(pairs))
		}
		return sum
	}
	p = SpreadOf(m.parts, func(t *tally) float64 { return mean(t, predicted) }).Mean
	difference := SpreadOf(m.parts, func(t *tally) float64 { return mean(t, found) - mean(t, predicted) })
	return p, p + difference.Mean, difference.SEM
}

// claim compares the mean over the pairs, which the row shows, and before it each pair if the
// values are exact.
func (m *measured) claim(claim string, predicted, found moment, pairs ...[2]int) ClaimRow {
	row := ClaimRow{Claim: claim, Relation: "=", Exact: m.exact, Agrees: true}
	if m.exact {
		for _, at := range pairs {
			row.compare(m.compare(predicted, found, at))
		}
	}
	row.compare(m.compare(predicted, found, pairs...))
	return row
}

// compare counts one comparison for the row's verdict, and shows its values.
func (r *ClaimRow) compare(predicted, measured, se float64) {
	difference, tolerance := math.Abs(measured-predicted), exactness*(1+math.Abs(predicted))
	if !r.Exact {
		tolerance += mostDeviation * se
	}
	r.Agrees = r.Agrees && difference <= tolerance
	r.Predicted, r.Measured, r.SE = predicted, measured, se
}
