package study

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVariance checks exact rows of a layer of four candidates. Debiased weights
// are unbiased and keep the bound on the variance. Weights 1/(s p) without
// replacement are biased.
func TestVariance(t *testing.T) {
	table, err := Variance{Weights: []float64{1, 2, 3, 4}, Sizes: []int{1, 2, 3, 4, 5}, Repeats: 2000}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		switch row.Estimator {
		case "wrs, debiased":
			if !row.Exact || row.Bias > 1e-12 || row.VarOverBound > 1+1e-12 {
				t.Errorf("%+v", row)
			}
		case "wrs, naive":
			if row.Samples > 1 && row.Bias < 0.1 {
				t.Errorf("no bias: %+v", row)
			}
		case "replacement, naive":
			near(t, "variance over its bound", row.VarOverBound, 1, 1e-12)
			near(t, "covariance over its bound", row.CovOverBound, 1, 1e-12)
		}
		if row.Samples > 4 {
			t.Errorf("%d draws from 4 candidates", row.Samples)
		}
	}
}

// TestVarianceEstimated estimates the moments of some of many candidates.
func TestVarianceEstimated(t *testing.T) {
	weights := make([]float64, 300)
	for i := range weights {
		weights[i] = float64(1 + i%17)
	}
	table, err := Variance{Weights: weights, Sizes: []int{40}, Watch: 12, Repeats: 4000, Estimators: Estimators(900)}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		if row.Exact || len(row.Candidates) != 12 || row.Candidates[0].P > row.Candidates[11].P {
			t.Errorf("%s: %d candidates", row.Estimator, len(row.Candidates))
		}
		if strings.Contains(row.Estimator, "sum-and-sample") {
			if row.WithinTheorem {
				t.Error("the last draw's variance is within the bounds")
			}
		} else if row.VarOverBound > 1.5 || !row.WithinTheorem {
			t.Errorf("%s: variance %v of its bound", row.Estimator, row.VarOverBound)
		}
	}
}

// A covariance above its bound is told apart from a variance above its bound.
func TestWithinTheorem(t *testing.T) {
	p := []float64{0.25, 0.75}
	for _, c := range []struct {
		variance, covariance float64
		variances, within    bool
	}{{1.5, 0.5, true, true}, {1.5, 0.6, true, false}, {1.6, 0.5, false, true}} {
		m := &Moments{Mean: []float64{1, 1}, Cov: [][]float64{{c.variance, c.covariance}, {c.covariance, 0.1}}}
		row := VarianceRow{Samples: 2}
		if row.compare(m, p, math.Inf(1)); row.WithinTheorem != (c.variances && c.within) || row.CovWithin != c.within {
			t.Errorf("variance %v, covariance %v: within the bounds: %v, covariances %v", c.variance, c.covariance, row.WithinTheorem, row.CovWithin)
		}
	}
}

// TestTablesSave writes every kind of table.
func TestTablesSave(t *testing.T) {
	p := randomLaplacian(t, 80, 200, false, 41)
	norms := [][]float64{RowNorms(randomRows(80, 3, 0, 42))}
	contender, err := ContenderByName("ladies", p, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, dir := t.Context(), t.TempDir()
	errs, err := ApproxError{Laplacian: p, Product: randomRows(80, 2, 0, 1), Nodes: allNodes(80), Methods: []Contender{contender}, Sizes: []int{4, 8}, Batch: 8, Repeats: 3}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	assumption, err := Assumption{Laplacian: p, Layers: norms, Nodes: allNodes(80), Batches: 2, Batch: 8}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	uniformity, err := Norms{Laplacian: p, Layers: norms, Nodes: allNodes(80), Batches: 2, Batch: 8}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	variance, err := Variance{Weights: []float64{1, 2, 3}, Sizes: []int{1, 2, 3}, Repeats: 100}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, table := range map[string]Table{"approx-error": errs, "assumption": assumption, "norms": uniformity, "variance": variance} {
		if err := Save(dir, name, table); err != nil {
			t.Fatal(err)
		}
		for _, ext := range []string{".csv", ".json", ".svg", ".png"} {
			info, err := os.Stat(filepath.Join(dir, name+ext))
			if err != nil || info.Size() < 100 {
				t.Errorf("%s%s: %v", name, ext, err)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var object struct {
			Rows []map[string]any `json:"rows"`
		}
		if err := json.Unmarshal(text, &object); err != nil || len(object.Rows) != len(table.List().Records) {
			t.Errorf("%s.json: %d rows, the table has %d; %v", name, len(object.Rows), len(table.List().Records), err)
		}
		for _, record := range table.List().Records {
			if len(record) != len(table.List().Header) {
				t.Errorf("%s: a record of %d fields under %d headings", name, len(record), len(table.List().Header))
			}
		}
	}
}

// TestVarianceOfExtremes checks that weights are refused if their shares are 0 or
// not finite. With them the study would not end, or give no numbers.
func TestVarianceOfExtremes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, weights := range [][]float64{{1e308, 1e308}, {1, 1e300, 1e-300}, {1, 0}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := (Variance{Weights: weights, Sizes: []int{1, 2}, Repeats: 50}).Run(ctx); err == nil || !strings.Contains(err.Error(), "weights from") {
			t.Errorf("weights %v: %v", weights, err)
		}
	}
	if _, err := (Variance{Weights: []float64{1, 1e90}, Sizes: []int{1, 2}, Repeats: 50}).Run(ctx); err != nil {
		t.Error(err)
	}
}

// TestVarianceScale uses weights below the smallest normal number. Only their
// ratios count, also for draws by keys, which divide by them.
func TestVarianceScale(t *testing.T) {
	run := func(weights ...float64) []VarianceRow {
		table, err := Variance{Weights: weights, Sizes: []int{2}, Repeats: 2000, Seed: 1}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return table.Rows
	}
	want := run(1, 2, 3)
	for k, row := range run(1e-310, 2e-310, 3e-310) {
		if math.Abs(row.Bias-want[k].Bias) > 1e-6 || math.Abs(row.MeanVar-want[k].MeanVar) > 1e-6*want[k].MeanVar+1e-9 {
			t.Errorf("%s: bias %v, mean variance %v; of the same weights times 10³¹⁰ %v and %v", row.Estimator, row.Bias, row.MeanVar, want[k].Bias, want[k].MeanVar)
		}
	}
}
