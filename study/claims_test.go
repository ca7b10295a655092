package study

import (
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// claimRow compares a statement with the measured value. Values are means over mini-batches.
type claimRow struct {
	claim, law string
	samples    int

	predicted, measured float64
	se                  float64 // standard error of the difference
	agrees              bool
}

// claimTable holds the rows of a test.
type claimTable struct{ rows []claimRow }

// add appends a row.
func (t *claimTable) add(row claimRow, law string, s int) {
	row.law, row.samples = law, s
	t.rows = append(t.rows, row)
}

// equal compares a predicted with a simulated value.
func equal(claim string, predicted, measured, se float64) claimRow {
	agrees := math.Abs(measured-predicted) <= 1e-7*(1+math.Abs(predicted))+mostDeviation*se
	return claimRow{claim: claim, predicted: predicted, measured: measured, se: se, agrees: agrees}
}

// mostDeviation is how many standard errors a simulated value may be away from the predicted one.
const mostDeviation = 5

// claims returns the rows of a claim, at least one.
func (t *claimTable) claims(tb testing.TB, claim string) []claimRow {
	tb.Helper()
	var rows []claimRow
	for _, r := range t.rows {
		if r.claim == claim {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		tb.Fatalf("no row on %q", claim)
	}
	return rows
}

// wantAgreement fails the test unless all rows of the claim agree, or none.
func (t *claimTable) wantAgreement(tb testing.TB, claim string, agrees bool) {
	tb.Helper()
	for _, r := range t.claims(tb, claim) {
		if r.agrees != agrees {
			tb.Errorf("%s, %s, %d draws: predicted %v, measured %v ± %v: agreement %v, want %v", claim, r.law, r.samples, r.predicted, r.measured, r.se, r.agrees, agrees)
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
	walk.walk(p, batch)
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
	if r := table.claims(t, "rank of BSC")[0]; r.measured != 2 {
		t.Errorf("rank %v, want 2", r.measured)
	}
	near(t, "signal in all components", table.claims(t, "signal in BSC's 2 first components")[0].measured, 1, 1e-6)
	// Wrong numbers of draws must show.
	squared := []float64{4, 5, 6}
	if row := varianceClaim(squared, func(int) float64 { return 5 }); !row.agrees {
		t.Error("the right variance does not agree")
	}
	if row := varianceClaim(squared, func(int) float64 { return 9 }); row.agrees {
		t.Error("a wrong variance agrees")
	}
}
