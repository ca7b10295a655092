package samplers

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"pgregory.net/rapid"
)

// TestVRGCNBlocks checks that the entries drawn and the control add up to P, that
// the row sums are P's, and that an input layer that reads features is exact.
func TestVRGCNBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(t, "nodes")
		adjacency := randomGraph(n, rapid.IntRange(0, 200).Draw(t, "edges"), rapid.Bool().Draw(t, "weighted"), rapid.Uint64().Draw(t, "seed"))
		p := graph.NewLaplacian(adjacency)
		if rapid.Bool().Draw(t, "row-stochastic") {
			p = graph.NewRowLaplacian(adjacency)
		}
		s := &Neighbor{Laplacian: p, Sizes: make([]int, rapid.IntRange(1, 3).Draw(t, "layers")), Control: ControlRolling, ExactInput: rapid.Bool().Draw(t, "exact input")}
		for l := range s.Sizes {
			s.Sizes[l] = rapid.IntRange(1, 6).Draw(t, "k")
		}
		rng := rand.New(NewSource(rapid.Uint64().Draw(t, "stream"), 0, 0))
		seeds := seedNodes(n, rapid.IntRange(1, n).Draw(t, "seeds"), rng)
		var batch MiniBatch
		if err := Prepared(s).Sample(context.Background(), seeds, rng, &batch); err != nil {
			t.Fatal(err)
		}
		dense := p.Dense()
		for l, block := range batch.Blocks {
			if err := block.Validate(n); err != nil {
				t.Fatal(err)
			}
			if (s.HistoryNodes(l) > 0) != (block.Control != nil) {
				t.Fatalf("layer %d has a control: %v, needs a history of %d nodes", l, block.Control != nil, s.HistoryNodes(l))
			}
			got := scatter(block, n)
			for i, r := range block.Dst {
				if block.Control != nil {
					for k, j := range block.Control.Row(i) {
						got[i*n+int(j)] += float64(block.Control.RowValues(i)[k])
					}
				}
				sum := 0.0
				for j := range n {
					want := dense[int(r)*n+j]
					sum += want
					if math.Abs(got[i*n+j]-want) > 1e-6 {
						t.Fatalf("layer %d: P̃ + control is %v at (%d, %d), want %v", l, got[i*n+j], r, j, want)
					}
				}
				if math.Abs(float64(block.RowSums[i])-sum) > 1e-5 {
					t.Fatalf("layer %d: row sum %v of node %d, want %v", l, block.RowSums[i], r, sum)
				}
				k := s.Sizes[len(s.Sizes)-1-l]
				if got, want := len(block.Matrix.Row(i)), min(k, adjacency.Degree(int(r)))+1; (l > 0 || s.ExactInput) && got != want {
					t.Fatalf("layer %d: %d entries for node %d, want %d", l, got, r, want)
				}
			}
		}
	})
}

// TestVRGCNZeroError checks that the estimate is PH for any draw if the history
// equals the activations (Chen, Zhu & Song 2018, §4.1).
func TestVRGCNZeroError(t *testing.T) {
	const n, width = 300, 8
	p := graph.NewLaplacian(randomGraph(n, 2000, false, 3))
	rng := rand.New(NewSource(2, 0, 0))
	h := make([]float32, n*width)
	for i := range h {
		h[i] = float32(rng.NormFloat64())
	}
	dense := p.Dense()
	s := &Neighbor{Laplacian: p, Sizes: []int{2, 2}, Control: ControlRolling}
	var batch MiniBatch
	for b := range uint64(50) {
		if err := Prepared(s).Sample(context.Background(), seedNodes(n, 20, rng), rand.New(NewSource(7, 0, b)), &batch); err != nil {
			t.Fatal(err)
		}
		block := batch.Blocks[1]
		for i, r := range block.Dst {
			for f := range width {
				var got, want float64
				for k, j := range block.Matrix.Row(i) {
					got += float64(block.Matrix.RowValues(i)[k]) * float64(h[int(block.Src[j])*width+f])
				}
				for k, j := range block.Control.Row(i) {
					got += float64(block.Control.RowValues(i)[k]) * float64(h[int(j)*width+f])
				}
				for j := range n {
					want += dense[int(r)*n+j] * float64(h[j*width+f])
				}
				if math.Abs(got-want) > 1e-5 {
					t.Fatalf("batch %d, node %d: %v, want %v", b, r, got, want)
				}
			}
		}
	}
}
