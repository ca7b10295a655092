package study

import (
	"context"
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/samplers"
)

// theorem returns the moments by the corrected recursion.
func theorem(ctx context.Context, weights []float64, s int, alpha func(k int) float64, watch []int32) (*Moments, error) {
	law, err := newMissingLaw(ctx, weights, s, watch)
	if err != nil {
		return nil, err
	}
	return law.moments(s, alpha, false), nil
}

// TestTheorem compares the recursion over subsets with the enumeration of all
// sequences of draws, for α = 1/k and for Algorithm 1's α with different n.
func TestTheorem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOfN(rapid.Float64Range(0.02, 1), 2, 6).Draw(t, "p")
		normalize(p)
		m := len(p)
		s := rapid.IntRange(1, m).Draw(t, "s")
		n := rapid.IntRange(m, m+10).Draw(t, "n")
		got, err := theorem(context.Background(), p, s, alphaOf(float64(n)), nil)
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

// TestTheoremLarge compares the theorem with the law over subsets for twelve
// candidates of very different weights, and with simple random sampling of many
// candidates: there Var(β) = (m−s)/s, and Cov(β_i, β_j) = −(m−s)/(s(m−1)).
func TestTheoremLarge(t *testing.T) {
	p := make([]float64, 12)
	for i := range p {
		p[i] = math.Pow(7, -float64(i))
	}
	normalize(p)
	for _, s := range []int{1, 2, 5, 11, 12} {
		for _, n := range []float64{12, 40, math.Inf(1)} {
			want := slowTheorem(p, s, alphaOf(n))
			got, err := theorem(t.Context(), p, s, alphaOf(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p {
				for j := range p {
					if g, w := got.Cov[i][j], want.Cov[i][j]; math.Abs(g-w) > 1e-9*(1/p[max(i, j)]) {
						t.Errorf("s=%d n=%v: Cov(β_%d, β_%d) = %v, want %v", s, n, i, j, g, w)
					}
				}
			}
		}
	}
	const m, s = 600, 100
	equal := make([]float64, m)
	for i := range equal {
		equal[i] = 3
	}
	got, err := theorem(t.Context(), equal, s, alphaOf(m), []int32{7, 500, 0})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Cov {
		for j := range got.Cov {
			want := -float64(m-s) / (s * (m - 1))
			if i == j {
				want = float64(m-s) / s
			}
			near(t, "covariance", got.Cov[i][j], want, 1e-9)
		}
	}
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
		v, err := theorem(context.Background(), p, s, alphaOf(math.Inf(1)), nil)
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
	got, err := theorem(t.Context(), p, 2, half, nil)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Var(0)-5.0/16) > 1e-12 {
		t.Errorf("Var = %v, want 5/16", got.Var(0))
	}
	law, err := newMissingLaw(t.Context(), p, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "variance as printed", law.moments(2, half, true).Var(0), 7.0/8, 1e-12)
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

// TestSimulate compares the estimated moments with the exact ones.
func TestSimulate(t *testing.T) {
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
		d, err := newDraws(weights, 3, e.draw, e.weight, watch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.simulate(t.Context(), repeats, 1)
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

// slowTheorem computes the theorem's moments from the law of the set drawn, over all
// subsets of at most 16 candidates of probabilities p.
func slowTheorem(p []float64, s int, alpha func(k int) float64) *Moments {
	m := len(p)
	t := newMoments(m)
	for i := range p {
		t.Mean[i] = 1
		for j := range p {
			t.Cov[i][j] = -1
		}
		t.Cov[i][i] = 1/p[i] - 1
	}
	law := newSubsetLaw(p)
	for k := 1; k < s; k++ {
		law.draw()
		a := alpha(k + 1)
		keep := (1 - a) * (1 - a)
		for i := range m {
			for j := range m {
				if i == j {
					t.Cov[i][i] = keep*t.Cov[i][i] + a*a*(law.missingMass(i)/p[i]-law.missing(1<<i))
				} else {
					t.Cov[i][j] = keep*t.Cov[i][j] - a*a*law.missing(1<<i|1<<j)
				}
			}
		}
	}
	return t
}

// subsetLaw is the law of the set of candidates that weighted random sampling
// has drawn after some draws.
type subsetLaw struct {
	p    []float64
	prob []float64 // of each subset, a bit a candidate
	left []float64 // probability outside each subset
	size int       // draws made
}

func newSubsetLaw(p []float64) *subsetLaw {
	l := &subsetLaw{p: p, prob: make([]float64, 1<<len(p)), left: make([]float64, 1<<len(p))}
	l.prob[0] = 1
	for set := range l.left {
		for i, v := range p {
			if set>>i&1 == 0 {
				l.left[set] += v
			}
		}
	}
	return l
}

// draw makes one more draw.
func (l *subsetLaw) draw() {
	next := make([]float64, len(l.prob))
	for set, prob := range l.prob {
		if prob == 0 || bits.OnesCount(uint(set)) != l.size {
			continue
		}
		for i, v := range l.p {
			if set>>i&1 == 0 {
				next[set|1<<i] += prob * v / l.left[set]
			}
		}
	}
	l.prob = next
	l.size++
}

// missing returns the probability that none of the candidates in mask is drawn.
func (l *subsetLaw) missing(mask int) float64 {
	var sum float64
	for set, prob := range l.prob {
		if set&mask == 0 {
			sum += prob
		}
	}
	return sum
}

// missingMass returns r_i: over the sets without i, the sum of their probability
// times the probability outside them.
func (l *subsetLaw) missingMass(i int) float64 {
	var sum float64
	for set, prob := range l.prob {
		if set>>i&1 == 0 {
			sum += prob * l.left[set]
		}
	}
	return sum
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
