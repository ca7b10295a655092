package study

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestTheorem compares the recursion over subsets with the enumeration of all
// sequences of draws, for α = 1/k and for Algorithm 1's α with different n.
func TestTheorem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0.02, 1), 2, 6).Draw(t, "p")
		normalize(p)
		m := len(p)
		s := rapid.IntRange(1, m).Draw(t, "s")
		n := rapid.IntRange(m, m+10).Draw(t, "n")
		got, err := Theorem(p, s, AlphaPopulation(float64(n)))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Enumerate(p, s, samplers.WithoutReplacement{}, samplers.Debiased{Population: n})
		if err != nil {
			t.Fatal(err)
		}
		if want.LargestBias() > 1e-12 {
			t.Fatalf("enumerated bias %v", want.LargestBias())
		}
		for i := range p {
			for j := range p {
				if g, w := got.Cov[i][j], want.Cov[i][j]; math.Abs(g-w) > 1e-10*(1+math.Abs(w)) {
					t.Fatalf("Cov(β_%d, β_%d) = %v by the theorem, %v by enumeration", i, j, g, w)
				}
			}
		}
	})
}

// TestTheoremBounds checks the statements of the theorem's proof. With α_k = 1/k
// the variance stays below (1/p−1)/k, and the covariance is negative and above
// -1/k. Algorithm 1 with n = m keeps the bound on the variance, but not the bounds
// on the covariance (recorded below).
func TestTheoremBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0.01, 1), 2, 7).Draw(t, "p")
		normalize(p)
		s := rapid.IntRange(1, len(p)).Draw(t, "s")
		v, err := Theorem(p, s, AlphaPopulation(math.Inf(1)))
		if err != nil {
			t.Fatal(err)
		}
		if r := v.VarianceOverBound(p, s); r > 1+1e-12 {
			t.Fatalf("variance is %v of its bound", r)
		}
		if r := v.CovarianceOverBound(s); r > 1+1e-12 {
			t.Fatalf("covariance is %v of its bound", r)
		}
		if c := v.LargestCovariance(); c > 1e-12 {
			t.Fatalf("covariance %v, want none above 0", c)
		}
	})
}

// TestTheoremSlip shows the slip in the printed recursion on a case worked by
// hand: p = (1/2, 1/4, 1/4), two draws, α₂ = 1/2.
//
// For i = 1 (p = 1/2) the first draw misses it with q̄ = 1/2, leaving 3/4 each
// time: r = 1/2·3/4 = 3/8, r/p = 3/4. With Var₁ = 1/p − 1 = 1 the corrected
// recursion gives 1/4·1 + 1/4·(3/4 − 1/2) = 5/16; the printed one
// 1/4·1 + (3/4 − 1/4·1/2) = 7/8.
func TestTheoremSlip(t *testing.T) {
	p := []float64{0.5, 0.25, 0.25}
	half := func(k int) float64 { return 1 / float64(k) }
	got, err := Theorem(p, 2, half)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Var(0)-5.0/16) > 1e-15 {
		t.Errorf("Var = %v, want 5/16", got.Var(0))
	}
	// By hand over the six sequences, β_1 of the pair drawn first and second:
	// drawn first (prob 1/2): β = 1/2·1/p + 1/2 = 3/2; second after 2 or 3
	// (prob 1/4·2/3 each): β = 1/2·(3/4)/(1/2) = 3/4; else 0.
	second := 0.5*1.5*1.5 + 2*(0.25*2.0/3)*0.75*0.75
	if math.Abs(second-1-5.0/16) > 1e-15 {
		t.Errorf("hand-worked Var = %v, want 5/16", second-1)
	}
}

// TestEnumerateReplacement checks draws with replacement against the binomial
// law: β_i = count/(s p), Var = (1/p−1)/s, Cov = −1/s.
func TestEnumerateReplacement(t *testing.T) {
	p := []float64{0.1, 0.2, 0.3, 0.4}
	const s = 3
	got, err := Enumerate(p, s, samplers.WithReplacement{}, samplers.Naive{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		for j := range p {
			want := -1.0 / s
			if i == j {
				want = (1/p[i] - 1) / s
			}
			if math.Abs(got.Cov[i][j]-want) > 1e-12 {
				t.Errorf("Cov(β_%d, β_%d) = %v, want %v", i, j, got.Cov[i][j], want)
			}
		}
	}
	if got.LargestBias() > 1e-12 {
		t.Errorf("bias %v, want none", got.LargestBias())
	}
}

// TestEnumerateNaive pins the bias of weights 1/(s p) without replacement in the
// smallest case, two draws from two candidates: β_i = 1/(2p_i) always.
func TestEnumerateNaive(t *testing.T) {
	got, err := Enumerate([]float64{1, 3}, 2, samplers.WithoutReplacement{}, samplers.Naive{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Mean[0]-2) > 1e-15 || math.Abs(got.Mean[1]-2.0/3) > 1e-15 {
		t.Errorf("E[β] = %v, want 2 and 2/3", got.Mean)
	}
	if math.Abs(got.Var(0)) > 1e-15 {
		t.Errorf("Var = %v, want 0", got.Var(0))
	}
}

// TestMonteCarlo compares the estimated moments with the exact ones.
func TestMonteCarlo(t *testing.T) {
	weights := []float64{0.5, 3, 1, 2.5, 0.2}
	const repeats = 200_000
	for _, e := range []struct {
		draw   samplers.Draw
		weight samplers.Weight
	}{
		{samplers.WithReplacement{}, samplers.Naive{}},
		{samplers.WithoutReplacement{}, samplers.Naive{}},
		{samplers.WithoutReplacement{}, samplers.Debiased{}},
	} {
		want, err := Enumerate(weights, 3, e.draw, e.weight)
		if err != nil {
			t.Fatal(err)
		}
		watch := []int32{4, 1, 0}
		got, err := MonteCarlo(t.Context(), weights, 3, e.draw, e.weight, watch, repeats, 1)
		if err != nil {
			t.Fatal(err)
		}
		for k, i := range watch {
			if d := math.Abs(got.Mean[k] - want.Mean[i]); d > 5*math.Sqrt(want.Var(int(i))/repeats)+1e-12 {
				t.Errorf("%T: E[β_%d] = %v, want %v", e.weight, i, got.Mean[k], want.Mean[i])
			}
			for l, j := range watch {
				if d := math.Abs(got.Cov[k][l] - want.Cov[i][j]); d > 0.05*(1+math.Abs(want.Cov[i][j])) {
					t.Errorf("%T: Cov(β_%d, β_%d) = %v, want %v", e.weight, i, j, got.Cov[k][l], want.Cov[i][j])
				}
			}
		}
	}
}

func normalize(p []float64) {
	var sum float64
	for _, v := range p {
		sum += v
	}
	for i := range p {
		p[i] /= sum
	}
}
