package study

import (
	"math"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestColumnWalk compares ‖QP^[i]‖ with the dense matrix.
func TestColumnWalk(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		p := randomLaplacian(t, 40, 70, weighted, 11)
		dense := p.Dense()
		w := newColumnWalk(p)
		for _, rows := range [][]int32{{3}, {1, 5, 9, 30}, allNodes(40)} {
			w.walk(rows)
			seen := map[int32]float64{}
			for k, i := range w.nodes {
				seen[i] = w.norms[k]
			}
			if len(seen) != len(w.nodes) {
				t.Fatalf("a column is there twice")
			}
			for i := range 40 {
				var sum float64
				for _, r := range rows {
					v := dense[int(r)*40+i]
					sum += v * v
				}
				near(t, "‖QP^[i]‖", seen[int32(i)], math.Sqrt(sum), 1e-6)
			}
		}
		for i, v := range ColumnNorms(p) {
			near(t, "‖P^[i]‖", v, seenAll(w, int32(i)), 1e-6)
		}
	}
}

// seenAll returns the norm of a column in the walk.
func seenAll(w *columnWalk, i int32) float64 { return w.norms[slices.Index(w.nodes, i)] }

// TestConstantsByHand checks C₁ and C₂ of the norms 1, 1, 4. They have mean square
// 6 and mean 2, so C₁ = 6/4. As rows of HW their squares 1, 1, 16 lie between 6/C₂
// and 6·C₂ for C₂ = max(16/6, 6/1) = 6.
func TestConstantsByHand(t *testing.T) {
	norms := []float64{1, 4, 1}
	near(t, "C1", unevenness(norms), 1.5, 1e-15)
	near(t, "C2", boundingConstant(norms, 0), 6, 1e-15)
	if c := boundingConstant([]float64{0, 1}, 0); !math.IsInf(c, 1) {
		t.Errorf("C2 with a zero row is %v", c)
	}
	// Cutting one of the three at each end leaves the middle norm, 1.
	near(t, "C2, cut", boundingConstant(norms, 0.34), 6, 1e-15)
}

// TestSecondMoments checks by enumeration that each side of the condition minus
// ‖BC‖² is s times the variance of s draws with replacement.
func TestSecondMoments(t *testing.T) {
	p := randomLaplacian(t, 9, 9, false, 3)
	c := randomRows(9, 3, 1, 4)
	rows := []int32{0, 3, 5}
	candidates, x := terms(p, rows, c)
	w := newColumnWalk(p)
	w.walk(rows)
	flat, ladies := secondMoments(w.nodes, w.norms, RowNorms(c))
	total := make([]float64, len(x[0]))
	for i := range x {
		for k, v := range x[i] {
			total[k] += v
		}
	}
	const s = 2
	for _, squared := range []bool{false, true} {
		weights := make([]float64, len(candidates))
		for k, i := range candidates {
			weights[k] = seenAll(w, i)
			if squared {
				weights[k] *= weights[k]
			}
		}
		moments, err := Enumerate(weights, s, samplers.WithReplacement{}, samplers.Naive{})
		if err != nil {
			t.Fatal(err)
		}
		bias2, variance := errorParts(moments, x)
		side := flat
		if squared {
			side = ladies
		}
		near(t, "bias²", bias2, 0, 1e-10)
		near(t, "variance", (side-dot(total, total))/s, variance, 1e-5)
	}
}

func TestHistogram(t *testing.T) {
	values := make([]float64, 0, 1000)
	for k := range 1000 {
		values = append(values, float64(k))
	}
	values[0] = -1e6 // one outlier at each end, which is 0.1 %
	values[999] = 1e6
	h := NewHistogram(values, 10, 0.002)
	if h.Low != 1 || h.High != 998 || h.Below != 1 || h.Above != 1 {
		t.Fatalf("histogram from %v to %v, %d and %d left out", h.Low, h.High, h.Below, h.Above)
	}
	sum := 0
	for _, n := range h.Counts {
		sum += n
		if n < 99 || n > 101 {
			t.Errorf("counts %v of even values", h.Counts)
		}
	}
	if sum != 998 {
		t.Errorf("%d values counted, want 998", sum)
	}
	if h := NewHistogram([]float64{2, 2, 2}, 4, 0); h.Counts[0] != 3 {
		t.Errorf("equal values: %v", h.Counts)
	}
	if h := NewHistogram(nil, 4, 0); h.Counts != nil {
		t.Errorf("histogram of nothing: %v", h)
	}
}

// TestNormsVerdict checks two graphs. On a regular graph every column of P has the
// same norm, so C₁ of P is 1, and flat and LADIES are the same method. On a star
// with equal rows of HW, flat must win.
func TestNormsVerdict(t *testing.T) {
	ring := ringLaplacian(t, 50)
	equal := make([]float64, 50)
	for i := range equal {
		equal[i] = 2
	}
	table, err := Norms{Laplacian: ring, Nodes: allNodes(50), Batch: 50, Batches: 3, Layers: [][]float64{equal}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	row := table.Rows[0]
	near(t, "C1", row.C1, 1, 1e-6)
	near(t, "C2", row.C2, 1, 1e-12)
	near(t, "moment ratio", row.MomentRatio, 1, 1e-6)

	star := starLaplacian(t, 50)
	table, err = Norms{Laplacian: star, Nodes: allNodes(50), Batch: 20, Batches: 5, Layers: [][]float64{equal}}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if row := table.Rows[0]; !row.Holds || !row.FlatBetter || row.C1 <= 1 {
		t.Errorf("a star with equal rows: %+v", row)
	}
}
