package study

import (
	"encoding/json"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// norris is the data set Norris of NIST's Statistical Reference Datasets, pairs
// of y and x. TestRegressionNIST holds the certified values.
var norris = [][2]float64{
	{0.1, 0.2}, {338.8, 337.4}, {118.1, 118.2}, {888.0, 884.6}, {9.2, 10.1}, {228.1, 226.5}, {668.5, 666.3}, {998.5, 996.3},
	{449.1, 448.6}, {778.9, 777.0}, {559.2, 558.2}, {0.3, 0.4}, {0.1, 0.6}, {778.1, 775.5}, {668.8, 666.9}, {339.3, 338.0},
	{448.9, 447.5}, {10.8, 11.6}, {557.7, 556.0}, {228.3, 228.1}, {998.0, 995.8}, {888.8, 887.6}, {119.6, 120.2}, {0.3, 0.3},
	{0.6, 0.3}, {557.6, 556.8}, {339.3, 339.1}, {888.0, 887.2}, {998.5, 999.0}, {778.9, 779.0}, {10.2, 11.1}, {117.6, 118.3},
	{228.9, 229.2}, {668.4, 669.1}, {449.2, 448.9}, {0.2, 0.5},
}

func TestRegressionNIST(t *testing.T) {
	var r Regression
	for _, p := range norris {
		r.Add(p[1], p[0])
	}
	line := r.Line()
	near(t, "β0", line.Intercept, -0.262323073774029, 1e-11)
	near(t, "se(β0)", line.InterceptSE, 0.232818234301152, 1e-11)
	near(t, "β1", line.Slope, 1.00211681802045, 1e-12)
	near(t, "se(β1)", line.SlopeSE, 0.429796848199937e-3, 1e-12)
	near(t, "R²", line.R2, 0.999993745883712, 1e-12)
	if line.N != 36 {
		t.Errorf("n = %d", line.N)
	}
}

// TestRegressionByHand: x = 0, 1, 2, 3 and y = 1, 0, 2, 5. Means 3/2 and 2,
// Sxx = 5, Syy = 14, Sxy = 7, so β1 = 7/5, β0 = 2 − 21/10 = −1/10, the residual
// sum of squares 14 − 49/5 = 21/5, σ² = 21/10, se(β1)² = 21/50,
// se(β0)² = 21/10·(1/4 + 9/20) = 147/100, R² = 49/70.
func TestRegressionByHand(t *testing.T) {
	var r Regression
	for x, y := range []float64{1, 0, 2, 5} {
		r.Add(float64(x), y)
	}
	line := r.Line()
	near(t, "β1", line.Slope, 7.0/5, 1e-14)
	near(t, "β0", line.Intercept, -0.1, 1e-14)
	near(t, "se(β1)", line.SlopeSE, math.Sqrt(21.0/50), 1e-14)
	near(t, "se(β0)", line.InterceptSE, math.Sqrt(1.47), 1e-14)
	near(t, "R²", line.R2, 0.7, 1e-14)
	swapped := r.Swapped().Line()
	near(t, "β1 of x on y", swapped.Slope, 7.0/14, 1e-14)
	near(t, "R² of x on y", swapped.R2, 0.7, 1e-14)
}

// TestRegressionGonum compares with gonum/stat. The pairs are added in two parts,
// which pass through JSON and are merged.
func TestRegressionGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 60).Draw(t, "n")
		values := rapid.SliceOfN(rapid.Float64Range(-100, 100), n, n)
		x, y := values.Draw(t, "x"), values.Draw(t, "y")
		if stat.Variance(x, nil) < 1e-3 || stat.Variance(y, nil) < 1e-3 {
			t.Skip("all x are equal")
		}
		shift := rapid.SampledFrom([]float64{0, 1e6}).Draw(t, "shift")
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		var parts [2]Regression
		for k := range x {
			x[k] += shift
			part := 0
			if k >= cut {
				part = 1
			}
			parts[part].Add(x[k], y[k])
		}
		text, err := json.Marshal(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		var second Regression
		if err := json.Unmarshal(text, &second); err != nil {
			t.Fatal(err)
		}
		parts[0].Merge(second)
		line := parts[0].Line()
		alpha, beta := stat.LinearRegression(x, y, nil, false)
		if math.Abs(line.Slope-beta) > 1e-6*(1+math.Abs(beta)) || math.Abs(line.Intercept-alpha) > 1e-6*(1+math.Abs(alpha)) {
			t.Fatalf("line %v + %v x, gonum has %v + %v x", line.Intercept, line.Slope, alpha, beta)
		}
		if r2 := stat.RSquared(x, y, nil, alpha, beta); math.Abs(line.R2-r2) > 1e-6 {
			t.Fatalf("R² %v, gonum has %v", line.R2, r2)
		}
	})
}

func TestRegressionDegenerate(t *testing.T) {
	var r Regression
	if line := r.Line(); line != (Line{}) {
		t.Errorf("line of nothing: %v", line)
	}
	r.Add(2, 3)
	r.Add(2, 5)
	r.Add(2, 4)
	if line := r.Line(); line.Slope != 0 || line.Intercept != 4 || line.R2 != 0 {
		t.Errorf("line over one x: %v", line)
	}
}
