package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/samplers"
)

// Claims compares the paper's statements on variance with exact enumeration where the
// number of outcomes is small, and else with simulation: the theorem on variance and
// covariance of the debiased factors β (Chen et al. 2023, §5.6), corrected and as printed,
// its bounds, and the finite population correction (§5, remark), for the given weights.
type Claims struct {
	Weights     []float64 // unnormalised probabilities of the candidates, positive; required
	Sizes       []int     // numbers of draws; required
	Populations []float64 // n of the debiased weights, +Inf for α = 1/k; nil means the number of candidates and +Inf
	Watch       int       `default:"16" least:"1"`      // candidates compared, spread evenly over the weights' order
	Repeats     int       `default:"20000" least:"200"` // simulated draws
	Seed        uint64

	Progress func(done, total int) // called after each of Sizes, if not nil
}

// ClaimRow compares one statement with the measured value. Over several candidates,
// values are means.
type ClaimRow struct {
	Claim    string `json:"claim" show:"claim"`
	Case     string `json:"case" show:"case"` // the n of the weights, or the probabilities
	Samples  int    `json:"samples" show:"draws"`
	Relation string `json:"relation" show:" "` // of Measured to Predicted, as claimed: "=", "≤" or "≥"

	Predicted Number `json:"predicted" show:"predicted|%.4g"`
	Measured  Number `json:"measured" show:"measured|%.4g"`
	Exact     bool   `json:"exact"`                           // Measured is exact
	SE        Number `json:"se" show:"± se|%.2g"`             // standard error of Measured
	Deviation Number `json:"deviation" show:"worst, se|%.2g"` // largest |measured − predicted| over the candidates, in standard errors
	Agrees    bool   `json:"agrees" show:"agrees"`
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

// Simulated values agree with predicted ones within mostDeviation standard errors.
// Candidates, or pairs of them, that fewer than fewestHits samples hold on average
// count for the mean only: their standard errors are not known well enough.
const (
	mostDeviation = 5
	fewestHits    = 200
	exactness     = 1e-7 // largest relative difference of exact values
)

// claimCorrected is the claim about the variance of each candidate.
const claimCorrected = "Var β, corrected recursion"

// simulationGroups is the number of groups of draws that standard errors come from:
// with few of them, a right value is too often far off by its standard error.
const simulationGroups = 100

// Run checks the claims. It costs, for each of about 30·√s points in time, O((m + Watch³)·s) operations, with s the largest size. For each size and
// population it makes Repeats draws.
func (c Claims) Run(ctx context.Context) (*ClaimTable, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &ClaimTable{Candidates: len(c.Weights), Repeats: c.Repeats, Seed: c.Seed}
	watch := evenlySpaced(c.Weights, c.Watch)
	law, err := newMissingLaw(ctx, c.Weights, slices.Max(c.Sizes), watch)
	if err != nil {
		return nil, err
	}
	for k, s := range c.Sizes {
		measure := func(weights []float64, n float64) (*measuredMoments, error) {
			weight := samplers.Debiased{Population: int(min(n, 1<<62))} // so large that α_k rounds to 1/k
			return measureMoments(ctx, weights, s, samplers.WithoutReplacement{}, weight, watch, c.Repeats, simulationGroups, c.Seed)
		}
		m := float64(len(c.Weights))
		given, err := measure(c.Weights, m)
		if err != nil {
			return nil, err
		}
		for _, n := range c.Populations {
			measured := given
			if n != m {
				if measured, err = measure(c.Weights, n); err != nil {
					return nil, err
				}
			}
			c.factors(t, law, measured, s, n)
		}
		if m > 1 {
			equal, err := measure(slices.Repeat([]float64{1}, len(c.Weights)), m)
			if err != nil {
				return nil, err
			}
			t.finitePopulation(law, given, equal, s)
		}
		if c.Progress != nil {
			c.Progress(k+1, len(c.Sizes))
		}
	}
	return t, nil
}

func (c *Claims) check() error {
	m := len(c.Weights)
	if c.Populations == nil {
		c.Populations = []float64{float64(m), math.Inf(1)}
	}
	switch {
	case m == 0 || len(c.Sizes) == 0:
		return errors.New("study: claims need candidates and numbers of draws")
	case slices.Min(c.Sizes) < 1 || slices.Max(c.Sizes) > m:
		return fmt.Errorf("study: %d to %d draws from %d candidates, want 1 to %d", slices.Min(c.Sizes), slices.Max(c.Sizes), m, m)
	}
	for _, n := range c.Populations {
		if !(n >= float64(m)) {
			return fmt.Errorf("study: a population of %v for %d candidates, want at least as many", n, m)
		}
	}
	var err error
	c.Weights, err = drawableWeights(c.Weights)
	return cmp.Or(err, setDefaults(c))
}

// factors checks the theorem on variance for s draws and the population n.
func (c *Claims) factors(t *ClaimTable, law *missingLaw, measured *measuredMoments, s int, n float64) {
	name := "n = " + populationText(n, len(c.Weights))
	add := func(row ClaimRow) { t.add(row, name, s) }
	predicted, printed := law.moments(s, alphaOf(n), false), law.moments(s, alphaOf(n), true)
	var mean, corrected, slipped, covariance []claimedValue
	after := &law.after[s]
	rare := func(missing float64) bool { return float64(c.Repeats)*(1-missing) < fewestHits }
	for i, p := range law.p {
		few, variance := rare(after.one[i]), func(m *Moments) float64 { return m.aboutOne(i, i) }
		mean = append(mean, claimedValue{1, func(m *Moments) float64 { return m.Mean[i] }, few})
		corrected = append(corrected, claimedValue{predicted.Var(i), variance, few})
		slipped = append(slipped, claimedValue{printed.Var(i), variance, few})
		for j := range i {
			both := rare(after.one[i] + after.one[j] - after.two[pair(i, j)])
			covariance = append(covariance, claimedValue{predicted.Cov[i][j], func(m *Moments) float64 { return m.aboutOne(i, j) }, both})
		}
		v, se := measured.estimate(variance)
		t.Points = append(t.Points, Claimed{Case: name, Samples: s, P: p, Predicted: predicted.Var(i), Printed: printed.Var(i), Measured: v, SE: se})
	}
	add(measured.compare("E β = 1", mean))
	add(measured.compare(claimCorrected, corrected))
	add(measured.compare("Var β, recursion as printed", slipped))
	// The bounds need no simulation: the recursion gives the exact moments.
	bound := atMost("Var β / ((1/p − 1)/s)", 1, predicted.VarianceOverBound(law.p, s))
	if len(covariance) == 0 {
		add(bound)
		return
	}
	add(measured.compare("Cov β", covariance))
	add(bound)
	add(atMost("s·|Cov β|", 1, predicted.CovarianceOverBound(s)))
	add(atMost("largest Cov β", 0, predicted.LargestCovariance()))
}

// finitePopulation compares variances of draws without replacement with those with
// replacement, (1/p − 1)/s: for equal probabilities the ratio is (m−s)/(m−1). given
// has the moments for the given weights, equal the moments for equal weights, both with n = m.
func (t *ClaimTable) finitePopulation(law *missingLaw, given, equal *measuredMoments, s int) {
	m, draws := float64(t.Candidates), float64(s)
	replaced, predicted := 0.0, 0.0 // ΣVar(β_i) with and without replacement, for the given weights
	moments := law.moments(s, alphaOf(m), false)
	for i, p := range law.p {
		replaced += (1/p - 1) / draws
		predicted += moments.Var(i)
	}
	ratio := func(name string, measured *measuredMoments, predicted, replaced float64) {
		of := func(moments *Moments) (sum float64) {
			for i := range law.p {
				sum += moments.aboutOne(i, i) / replaced
			}
			return sum
		}
		t.add(measured.compare("finite population: Var β ratio", []claimedValue{{predicted, of, false}}), name, s)
	}
	ratio("equal p", equal, (m-draws)/(m-1), float64(len(law.p))*(m-1)/draws)
	ratio("given p", given, predicted/replaced, replaced)
}

// add appends a row.
func (t *ClaimTable) add(row ClaimRow, name string, s int) {
	row.Case, row.Samples = name, s
	t.Rows = append(t.Rows, row)
}

// atMost is a claim about a value that is known exactly.
func atMost(claim string, bound, value float64) ClaimRow {
	return ClaimRow{Claim: claim, Relation: "≤", Predicted: Number(bound), Measured: Number(value), Exact: true, Agrees: value <= bound+exactness}
}

// claimedValue is a predicted value, and the same value of measured moments.
type claimedValue struct {
	predicted float64
	of        func(*Moments) float64
	rare      bool // the candidate is drawn too rarely to compare it alone
}

// compare compares every value, and then their mean, which the row shows.
func (m *measuredMoments) compare(claim string, values []claimedValue) ClaimRow {
	row := ClaimRow{Claim: claim, Relation: "=", Exact: m.exact, Agrees: true}
	mean := claimedValue{of: func(moments *Moments) (sum float64) {
		for _, v := range values {
			sum += v.of(moments) / float64(len(values))
		}
		return sum
	}}
	for _, v := range values {
		mean.predicted += v.predicted / float64(len(values))
	}
	for _, v := range append(slices.Clip(values), mean) {
		if !v.rare {
			measured, se := m.estimate(v.of)
			row.compare(v.predicted, measured, se)
		}
	}
	return row
}

// compare counts one comparison for the row's verdict, and shows its values.
func (r *ClaimRow) compare(predicted, measured, se float64) {
	difference, tolerance := math.Abs(measured-predicted), exactness*(1+math.Abs(predicted))
	if !r.Exact && difference > tolerance {
		r.Deviation = max(r.Deviation, Number(difference/se))
		tolerance += mostDeviation * se
	}
	r.Agrees = r.Agrees && difference <= tolerance
	r.Predicted, r.Measured, r.SE = Number(predicted), Number(measured), Number(se)
}

// populationText names a population.
func populationText(n float64, candidates int) string {
	switch {
	case math.IsInf(n, 1):
		return "∞"
	case n == float64(candidates):
		return "m"
	}
	return fmt.Sprintf("%.0f", n)
}
