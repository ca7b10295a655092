package study

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestAssumption computes the pairs from the dense matrix, and fits them with
// gonum.
func TestAssumption(t *testing.T) {
	p := randomLaplacian(t, 60, 150, true, 21)
	norms := RowNorms(randomRows(60, 3, 0.5, 22))
	a := Assumption{
		Laplacian: p, Layers: [][]float64{norms}, Nodes: allNodes(40), Within: allNodes(50),
		Batches: 7, Batch: 5, Points: 30, Seed: 3,
	}
	table, err := a.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dense := p.Dense()
	columns := func(rows []int32) (x, y []float64) {
		for i := range 50 {
			var sum float64
			for _, r := range rows {
				v := dense[int(r)*60+i]
				sum += v * v
			}
			if sum > 0 {
				x, y = append(x, sqrt(sum)), append(y, norms[i])
			}
		}
		return x, y
	}
	x, y := columns(allNodes(60))
	compareLine(t, table.Row("layer 1", NormHW, NormP), x, y)
	compareLine(t, table.Row("layer 1", NormP, NormHW), y, x)

	x, y = nil, nil
	source := samplers.NewSource(3, 0, 0)
	for b := range 7 {
		samplers.Seed(source, 3, 0, uint64(b))
		bx, by := columns(RandomBatch(rand.New(source), allNodes(40), 5))
		x, y = append(x, bx...), append(y, by...)
	}
	compareLine(t, table.Row("layer 1", NormHW, NormQP), x, y)
	compareLine(t, table.Row("layer 1", NormQP, NormHW), y, x)
	for _, s := range table.Scatters {
		if len(s.Points) != 30 {
			t.Errorf("%d points", len(s.Points))
		}
	}
}

func compareLine(t *testing.T, row *AssumptionRow, x, y []float64) {
	t.Helper()
	if row == nil {
		t.Fatal("no such regression")
	}
	alpha, beta := stat.LinearRegression(x, y, nil, false)
	near(t, "n", float64(row.N), float64(len(x)), 0)
	near(t, "β0", row.Intercept, alpha, 1e-5)
	near(t, "β1", row.Slope, beta, 1e-5)
	near(t, "R²", row.R2, stat.RSquared(x, y, nil, alpha, beta), 1e-5)
}

// TestAssumptionWithoutBatches regresses two layers on the norms of P alone.
func TestAssumptionWithoutBatches(t *testing.T) {
	p := randomLaplacian(t, 30, 60, false, 23)
	one, two := RowNorms(randomRows(30, 2, 0, 1)), RowNorms(randomRows(30, 2, 0, 2))
	table, err := Assumption{Laplacian: p, Layers: [][]float64{one, two}, Batches: -1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	columns := ColumnNorms(p)
	compareLine(t, table.Row("layer 1", NormHW, NormP), columns, one)
	compareLine(t, table.Row("layer 2", NormHW, NormP), columns, two)
	if table.Row("layer 1", NormHW, NormQP) != nil {
		t.Error("regressed on QP without batches")
	}
}

// TestSampleOfPairs samples three of ten points many times, and counts how often each
// is kept.
func TestSampleOfPairs(t *testing.T) {
	var counts [10]int
	const repeats = 20_000
	for r := range repeats {
		kept := pairs{most: 3, rng: rand.New(samplers.NewSource(uint64(r), 0, 0))}
		for i := range 10 {
			kept.add(float64(i), 0)
		}
		for _, p := range kept.Points {
			counts[int(p[0])]++
		}
	}
	for i, n := range counts {
		if n < 5700 || n > 6300 { // 6000 ± 4.6 standard deviations
			t.Errorf("point %d kept %d times, want about 6000", i, n)
		}
	}
}

// Row returns the regression of a layer in one direction, or nil.
func (t *AssumptionTable) Row(layer, response, on string) *AssumptionRow {
	for k, r := range t.Rows {
		if r.Layer == layer && r.Response == response && r.On == on {
			return &t.Rows[k]
		}
	}
	return nil
}
