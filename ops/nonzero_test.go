package ops

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"pgregory.net/rapid"
)

// emptied empties about a third of b's rows and returns b.
func emptied(rng *rand.Rand, b *graph.Block) *graph.Block {
	a := &b.Matrix
	kept := graph.CSR{Rows: a.Rows, Cols: a.Cols, Ptr: []int64{0}}
	for i := range a.Rows {
		if rng.IntN(3) > 0 {
			kept.Idx = append(kept.Idx, a.Row(i)...)
			kept.Val = append(kept.Val, a.RowValues(i)...)
		}
		kept.Ptr = append(kept.Ptr, int64(len(kept.Idx)))
	}
	b.Matrix = kept
	b.Finish()
	return b
}

// cutCounter counts the products over fewer rows than each of sizes.
type cutCounter struct {
	blas.BLAS // no RowBLAS: selected rows are gathered
	sizes     []int
	cut       *int
}

func (b cutCounter) Sgemm(transA, transB bool, m, n, k int, alpha float32, x []float32, ldx int, y []float32, ldy int, beta float32, z []float32, ldz int) {
	rows := m
	if transA {
		rows = k
	}
	if !slices.Contains(b.sizes, rows) {
		*b.cut++
	}
	b.BLAS.Sgemm(transA, transB, m, n, k, alpha, x, ldx, y, ldy, beta, z, ldz)
}

// Leaving out rows that are zero must not change the loss. Gradients may differ in
// rounding, since sums over rows are grouped otherwise.
func TestProductsLeaveOutZeroRows(t *testing.T) {
	x, y := networkData()
	var cut [2]int
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "blocks"), 1))
		sizes := [3]int{1 + rng.IntN(20), 1 + rng.IntN(20), 1 + rng.IntN(20)}
		blocks := randomChain(rng, networkNodes, sizes[:]...)
		for _, b := range blocks {
			emptied(rng, b)
		}
		gather := rapid.Bool().Draw(t, "gather")
		var results [2][]float32
		for k := range results {
			n, err := newNetwork(x, y, sizes, middles["nothing"])
			if err != nil {
				t.Fatal(err)
			}
			defer n.machine.Close()
			for _, node := range n.graph.AllNodes() {
				op, ok := node.Op().(*product)
				if ok && gather {
					op.blas = cutCounter{op.blas, sizes[1:], &cut[k]}
				}
				if ok && k == 1 {
					op.below = nil // computes all rows
				}
			}
			if results[k], err = n.run(blocks, 5); err != nil {
				t.Fatal(err)
			}
		}
		if results[0][0] != results[1][0] {
			t.Fatalf("loss %v, want %v", results[0][0], results[1][0])
		}
		for i, got := range results[0] {
			if want := results[1][i]; math.Abs(float64(got-want)) > 1e-5*(1+math.Abs(float64(want))) {
				t.Fatalf("value %d is %v, want %v", i, got, want)
			}
		}
	})
	if cut[0] == 0 || cut[1] != 0 {
		t.Errorf("%d products left out rows, and %d of those that compute all rows", cut[0], cut[1])
	}
}

// Rows that an op does not name as nonzero must be zero.
func TestRowsLeftOutAreZero(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := networkData()
	sizes := [3]int{15, 18, 12}
	n, err := newNetwork(x, y, sizes, middles["nothing"])
	if err != nil {
		t.Fatal(err)
	}
	defer n.machine.Close()
	blocks := randomChain(rng, networkNodes, sizes[:]...)
	for _, b := range blocks {
		emptied(rng, b)
	}
	if err := n.set(blocks, 5); err != nil {
		t.Fatal(err)
	}
	// Without a machine, which would bind the values later and in another order.
	values := map[*G.Node]G.Value{}
	var run func(node *G.Node) G.Value
	sets := 0
	run = func(node *G.Node) G.Value {
		if v, ok := values[node]; ok {
			return v
		}
		if node.Op() == nil {
			return node.Value()
		}
		var in []G.Value
		for _, child := range plan.Children(node) {
			in = append(in, run(child))
		}
		v, err := node.Op().Do(in...)
		if err != nil {
			t.Fatal(err)
		}
		values[node] = v
		op, ok := node.Op().(graphOp)
		if !ok {
			return v
		}
		s := nonzero(op.common().own.run, op, false)
		if s == nil {
			return v
		}
		sets++
		matters := map[int]bool{}
		for _, i := range s.rows {
			matters[int(i)] = true
		}
		data, err := plan.FloatsOf(v)
		if err != nil {
			t.Fatal(err)
		}
		for k, value := range data {
			if cols := v.Shape()[1]; value != 0 && !matters[k/cols] {
				t.Fatalf("%v: row %d holds %v", node.Op(), k/cols, value)
			}
		}
		return v
	}
	run(n.loss)
	if sets < 5 {
		t.Errorf("only %d ops know rows that are zero", sets)
	}
}

// A product over no rows is zero, also if A has none.
func TestMultiplyOverNothing(t *testing.T) {
	backend, err := blas.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, over := range [][]int32{nil, {}} {
		c := []float32{1, 2, 3, 4, 5, 6}
		new(rowProducts).multiplyOver(backend, over, plan.Matrix{Cols: 2}, plan.Matrix{Cols: 3}, c)
		if !slices.Equal(c, make([]float32, 6)) {
			t.Errorf("over %v: %v", over, c)
		}
	}
}
