package graph

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A directed graph has the edges that were added, each in one direction, and the Laplacian
// of the definition.
func TestDirected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		b, err := NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, n*n)
		weighted := rapid.Bool().Draw(t, "weighted")
		given := rapid.IntRange(0, 40).Draw(t, "edges")
		for range given {
			u, v := rapid.IntRange(0, n-1).Draw(t, "u"), rapid.IntRange(0, n-1).Draw(t, "v")
			w := float32(1)
			if weighted {
				w = rapid.Float32Range(0.5, 4).Draw(t, "w")
			}
			if err := b.AddWeighted(int32(u), int32(v), w); err != nil {
				t.Fatal(err)
			}
			if u != v && want[u*n+v] == 0 {
				want[u*n+v] = float64(w)
			}
		}
		a, report := b.BuildDirected()
		if err := a.ValidateAdjacency(context.Background(), true); err != nil {
			t.Fatal(err)
		}
		if report.Given != int64(given) || report.Edges != a.NNZ() || report.Given != report.Edges+report.Duplicates+report.SelfLoops {
			t.Fatalf("report %+v of %d entries", report, a.NNZ())
		}
		p := NewDirectedLaplacian(a)
		got, norms := p.Dense(), p.ColumnNorms2()
		for i := range n {
			degree := 1.0
			for j := range n {
				degree += want[i*n+j]
			}
			for j := range n {
				entry := want[i*n+j] / degree
				if i == j {
					entry = 1 / degree
				}
				if math.Abs(got[i*n+j]-entry) > 1e-6 {
					t.Fatalf("P[%d][%d] = %v, want %v", i, j, got[i*n+j], entry)
				}
			}
		}
		for j := range n {
			sum := 0.0
			for i := range n {
				sum += got[i*n+j] * got[i*n+j]
			}
			if math.Abs(norms[j]-sum) > 1e-6*(1+sum) {
				t.Fatalf("column %d has norm² %v, want %v", j, norms[j], sum)
			}
		}
	})
}

// A directed matrix is no undirected one, and its weights must be positive.
func TestValidateDirected(t *testing.T) {
	a := &CSR{Rows: 2, Cols: 2, Ptr: []int64{0, 1, 1}, Idx: []int32{1}}
	if err := a.ValidateAdjacency(t.Context(), true); err != nil {
		t.Error(err)
	}
	if a.ValidateAdjacency(t.Context(), false) == nil {
		t.Error("a directed graph is a valid undirected one")
	}
	for _, w := range []float32{0, -1, float32(math.Inf(1)), float32(math.NaN())} {
		a.Val = []float32{w}
		if a.ValidateAdjacency(t.Context(), true) == nil {
			t.Errorf("weight %v is valid", w)
		}
	}
}
