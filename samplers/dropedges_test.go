package samplers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestDropEdgesUnbiased gives dropEdges every mask of a small block: the mean of P̃ is the
// block's own matrix, and its own entries never change.
func TestDropEdgesUnbiased(t *testing.T) {
	builder, err := graph.NewBuilder(5)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {1, 2}, {2, 3}} { // node 4 is alone
		if err := builder.AddWeighted(e[0], e[1], 0.5+float32(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	adjacency, _ := builder.Build()
	p := graph.NewLaplacian(adjacency)
	sample := func() *graph.Block {
		var batch MiniBatch
		if err := Prepared(&Full{Laplacian: p, Depth: 1}).Sample(context.Background(), []int32{2, 0, 4}, nil, &batch); err != nil {
			t.Fatal(err)
		}
		return batch.Blocks[0]
	}
	const edges, rate = 5, 0.75 // three of node 2, two of node 0
	want := denseMatrix(&sample().Matrix)
	mean := make([]float64, len(want))
	total := 0.0
	for mask := range 1 << edges {
		block, at, probability := sample(), 0, 1.0
		dropEdges(block, 1/(1-float32(rate)), func() bool {
			kept := mask>>at&1 == 1
			if at++; kept {
				probability *= 1 - rate
			} else {
				probability *= rate
			}
			return kept
		})
		if at != edges {
			t.Fatalf("%d decisions, want %d", at, edges)
		}
		if err := block.Validate(p.Nodes()); err != nil {
			t.Fatal(err)
		}
		for k, v := range denseMatrix(&block.Matrix) {
			mean[k] += probability * float64(v)
		}
		total += probability
	}
	if math.Abs(total-1) > 1e-12 {
		t.Fatalf("the probabilities sum to %v", total)
	}
	for k, v := range mean {
		if math.Abs(v-float64(want[k])) > 1e-12 {
			t.Errorf("entry %d has the mean %v, want %v", k, v, want[k])
		}
	}
}

func denseMatrix(m *graph.CSR) []float32 {
	dense := make([]float32, m.Rows*m.Cols)
	for i := range m.Rows {
		for k, j := range m.Row(i) {
			dense[i*m.Cols+int(j)] += m.RowValues(i)[k]
		}
	}
	return dense
}

// TestDropEdgesRate compares the number of kept entries with its law, within 5 standard
// deviations, and the own entries of two draws.
func TestDropEdgesRate(t *testing.T) {
	builder, err := graph.NewBuilder(400)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		if err := builder.AddWeighted(int32(rng.IntN(400)), int32(rng.IntN(400)), 1); err != nil {
			t.Fatal(err)
		}
	}
	adjacency, _ := builder.Build()
	p := graph.NewLaplacian(adjacency)
	seeds := []int32{3, 1, 4, 15, 92, 65}
	full, half := new(MiniBatch), new(MiniBatch)
	if err := Prepared(&Full{Laplacian: p, Depth: 2}).Sample(context.Background(), seeds, rng, full); err != nil {
		t.Fatal(err)
	}
	s := Prepared(&Full{Laplacian: p, Depth: 2})
	if err := cmp.Or(s.Sample(context.Background(), seeds, rng, half), half.DropEdges(0.25, rng)); err != nil {
		t.Fatal(err)
	}
	all, kept := full.Blocks[0], half.Blocks[0]
	own := len(all.Dst)
	n := float64(all.Matrix.NNZ() - int64(own))
	got, want := float64(kept.Matrix.NNZ()-int64(own)), 0.75*n
	if math.Abs(got-want) > 5*math.Sqrt(n*0.25*0.75) {
		t.Errorf("%v entries of %v are kept, want about %v", got, n, want)
	}
	if !slices.Equal(all.Src, kept.Src) {
		t.Error("the input nodes have changed")
	}
}

// TestDropEdgesRefuses gives it blocks with a control.
func TestDropEdgesRefuses(t *testing.T) {
	p := graph.NewLaplacian(&graph.CSR{Rows: 2, Cols: 2, Ptr: []int64{0, 1, 2}, Idx: []int32{1, 0}})
	s := Prepared(&Neighbor{Laplacian: p, Sizes: []int{1, 1}, Control: ControlRolling})
	rng := rand.New(NewSource(1, 0, 0))
	var batch MiniBatch
	if err := s.Sample(t.Context(), []int32{0}, rng, &batch); err != nil {
		t.Fatal(err)
	}
	if err := batch.DropEdges(0.5, rng); err == nil || !strings.Contains(err.Error(), "control") {
		t.Errorf("error %v, want one about a control", err)
	}
}
