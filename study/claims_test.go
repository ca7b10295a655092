package study

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// claims returns the rows of a claim, at least one.
func (t *ClaimTable) claims(tb testing.TB, claim string) []ClaimRow {
	tb.Helper()
	var rows []ClaimRow
	for _, r := range t.Rows {
		if r.Claim == claim {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		tb.Fatalf("no row on %q", claim)
	}
	return rows
}

// wantAgreement fails the test unless all rows of the claim agree, or none.
func (t *ClaimTable) wantAgreement(tb testing.TB, claim string, agrees bool) {
	tb.Helper()
	for _, r := range t.claims(tb, claim) {
		if r.Agrees != agrees {
			tb.Errorf("%s, %s, %d draws: predicted %v, measured %v ± %v: agreement %v, want %v", claim, r.Case, r.Samples, r.Predicted, r.Measured, r.SE, r.Agrees, agrees)
		}
	}
}

// betaClaims are the claims on β that hold for α = 1/k.
var betaClaims = []string{"E β = 1", "Var β, corrected recursion", "Cov β", "Var β / ((1/p − 1)/s)", "s·|Cov β|", "largest Cov β", "finite population: Var β ratio"}

// TestClaims enumerates small layers. The printed recursion is wrong after more than
// one draw.
func TestClaims(t *testing.T) {
	table, err := Claims{Weights: []float64{0.5, 3, 1, 2, 0.25}, Sizes: []int{2, 3, 4}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table.Rows = slices.DeleteFunc(table.Rows, func(r ClaimRow) bool { return r.Case == "n = m" })
	for _, claim := range betaClaims {
		table.wantAgreement(t, claim, true)
	}
	table.wantAgreement(t, "Var β, recursion as printed", false)
	for _, r := range table.Rows {
		if r.SE != 0 {
			t.Errorf("%s: standard error %v of an enumeration", r.Claim, r.SE)
		}
	}
	ratios := table.claims(t, "finite population: Var β ratio")
	near(t, "finite population correction of 3 draws from 5", float64(ratios[1].Measured), 2.0/4, 1e-12)
}

// TestClaimsBroken has a case in which Algorithm 1's α breaks the bound on the
// covariance, which holds for α = 1/k only.
func TestClaimsBroken(t *testing.T) {
	weights := []float64{100, 100, 100, 1, 1}
	table, err := Claims{Weights: weights, Sizes: []int{4}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.claims(t, "s·|Cov β|") {
		if r.Agrees != (r.Case == "n = ∞") {
			t.Errorf("%s: s·|Cov β| = %v: agreement %v", r.Case, r.Measured, r.Agrees)
		}
	}
}

// TestClaimsSimulated simulates more outcomes than can be enumerated. The numbers do not depend
// on the number of cores.
func TestClaimsSimulated(t *testing.T) {
	var weights []float64
	for i := range 60 {
		weights = append(weights, 1/float64(1+i%20))
	}
	c := Claims{Weights: weights, Sizes: []int{8, 25}, Watch: 6, Repeats: 6000, Seed: 3}
	table, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{"E β = 1", "Var β, corrected recursion", "Cov β", "finite population: Var β ratio"} {
		table.wantAgreement(t, claim, true)
		for _, r := range table.claims(t, claim) {
			if !(r.SE > 0) {
				t.Errorf("%s: no standard error", claim)
			}
		}
	}
	table.wantAgreement(t, "Var β, recursion as printed", false)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	again, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for k, r := range table.Rows {
		if again.Rows[k] != r {
			t.Errorf("row %d is %+v, was %+v", k, again.Rows[k], r)
		}
	}
}

// TestProductTerms compares the closed form of E‖BSC−BC‖²_F with all outcomes of two
// draws with replacement, and the bound with its formula, for dense B and C.
func TestProductTerms(t *testing.T) {
	p := graph.NewLaplacian(samplertest.RandomGraph(t, 5, 6, true, 2))
	hw := randomRows(5, 3, 1, 7)
	batch := []int32{1, 4}
	walk := newColumnWalk(p)
	walk.walk(batch)
	dense := p.Dense()
	rows := RowNorms(hw)
	// x returns β·B^[i]C_[i], summed over the given candidates, minus BC.
	x := func(beta map[int32]float64) float64 {
		var squares float64
		for _, r := range batch {
			for c := range hw.Cols {
				var v float64
				for i := range int32(5) {
					v += (beta[i] - 1) * dense[int(r)*5+int(i)] * float64(hw.Row(int(i))[c])
				}
				squares += v * v
			}
		}
		return squares
	}
	for _, law := range ammLaws() {
		var total, products, b2, c2 float64
		for k, i := range walk.nodes {
			total += law.share(walk.norms[k], rows[i])
			products += walk.norms[k] * rows[i]
			b2 += walk.norms[k] * walk.norms[k]
			c2 += rows[i] * rows[i]
		}
		of := func(k int) float64 { return law.share(walk.norms[k], rows[walk.nodes[k]]) / total }
		quality := math.Inf(1)
		var mean float64
		for k, i := range walk.nodes {
			quality = min(quality, of(k)*products/(walk.norms[k]*rows[i]))
			for l, j := range walk.nodes {
				beta := map[int32]float64{}
				beta[i] += 1 / (2 * of(k))
				beta[j] += 1 / (2 * of(l))
				mean += of(k) * of(l) * x(beta)
			}
		}
		got := law.terms(walk.nodes, walk.norms, rows)
		near(t, law.name+": E‖BSC−BC‖²", (got.second-x(nil))/2, mean, 1e-6)
		eta := 1 + math.Sqrt(8/quality*math.Log(10))
		near(t, law.name+": bound", got.bound, eta*eta/quality*b2*c2, 1e-9)
		if law.name == "optimal" {
			near(t, "quality of the optimal law", quality, 1, 1e-9)
		}
	}
}

// TestClaimsProducts checks the claims on approximate products by simulation. The
// product HW has rank 2, so that the sampled products have it too.
func TestClaimsProducts(t *testing.T) {
	p := randomLaplacian(t, 300, 1500, false, 5)
	hw := &graph.Features{Rows: 300, Cols: 6, Data: make([]float32, 300*6)}
	left := randomRows(300, 2, 0, 9)
	for i := range 300 {
		for c := range 6 {
			hw.Data[i*6+c] = left.Row(i)[0]*float32(c+1) + left.Row(i)[1]*float32(c*c)
		}
	}
	c := productClaims{Sizes: []int{2}, Laplacian: p, Product: hw, Nodes: allNodes(300), Batch: 20, Batches: 60, Rank: 2, Seed: 1}
	table, err := c.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{"E‖BSC − BC‖²", "bound of ‖BSC − BC‖²", "share of draws within the bound", "variance, flat over LADIES", "rank of BSC"} {
		table.wantAgreement(t, claim, true)
	}
	if r := table.claims(t, "rank of BSC")[0]; r.Measured != 2 {
		t.Errorf("rank %v, want 2", r.Measured)
	}
	near(t, "signal in all components", float64(table.claims(t, "signal in BSC's 2 first components")[0].Measured), 1, 1e-6)
	// Wrong numbers of draws must show.
	squared := []float64{4, 5, 6}
	if row := varianceClaim(squared, func(int) float64 { return 5 }); !row.Agrees {
		t.Error("the right variance does not agree")
	}
	if row := varianceClaim(squared, func(int) float64 { return 9 }); row.Agrees {
		t.Error("a wrong variance agrees")
	}
}

// TestClaimsErrors checks that wrong settings are errors, and that tiny weights count
// by their ratios.
func TestClaimsErrors(t *testing.T) {
	for want, c := range map[string]Claims{
		"need candidates":     {Sizes: []int{1}},
		"4 draws from 3":      {Weights: []float64{1, 2, 3}, Sizes: []int{1, 4}},
		"weights from -1":     {Weights: []float64{1, -1}, Sizes: []int{1}},
		"weights from 1e-300": {Weights: []float64{1, 1e-300}, Sizes: []int{1}},
		"Repeats is 30":       {Weights: []float64{1, 2}, Sizes: []int{1}, Repeats: 30},
	} {
		if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	table, err := Claims{Weights: []float64{1e-310, 2e-310, 3e-310}, Sizes: []int{2}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table.Rows = slices.DeleteFunc(table.Rows, func(r ClaimRow) bool { return r.Case == "n = m" })
	for _, claim := range betaClaims {
		table.wantAgreement(t, claim, true)
	}
}
