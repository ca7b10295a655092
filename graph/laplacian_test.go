package graph

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/reference"
	"pgregory.net/rapid"
)

func drawGraph(t *rapid.T) *CSR {
	n := rapid.IntRange(1, 10).Draw(t, "nodes")
	b, err := NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(0, 25).Draw(t, "edges") {
		u, v := rapid.Int32Range(0, int32(n-1)).Draw(t, "u"), rapid.Int32Range(0, int32(n-1)).Draw(t, "v")
		if err := b.AddWeighted(u, v, rapid.SampledFrom([]float32{1, 0.5, 3}).Draw(t, "weight")); err != nil {
			t.Fatal(err)
		}
	}
	m, _ := b.Build()
	return m
}

// TestLaplacian compares both normalisations with the reference's D̃^-½ÃD̃^-½ and with
// D̃^-1Ã = D̃^-½(D̃^-½ÃD̃^-½)D̃^½. An entry on the reference's diagonal is 1/d̃_i.
func TestLaplacian(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawGraph(t)
		n := a.Rows
		want := reference.Laplacian(dense(a))
		for _, c := range []struct {
			p    *Laplacian
			want func(i, j int) float64
		}{
			{NewLaplacian(a), func(i, j int) float64 { return want[i][j] }},
			{NewRowLaplacian(a), func(i, j int) float64 { return want[i][j] * math.Sqrt(want[i][i]/want[j][j]) }},
		} {
			if err := c.p.Validate(); err != nil {
				t.Fatal(err)
			}
			d, norms := c.p.Dense(), c.p.ColumnNorms2()
			for j := range n {
				var norm float64
				for i := range n {
					want := c.want(i, j)
					norm += want * want
					if got := d[i*n+j]; math.Abs(got-want) > 1e-6 {
						t.Fatalf("Dense: P[%d][%d] = %v, want %v", i, j, got, want)
					}
					if got := float64(c.p.At(i, j)); math.Abs(got-want) > 1e-6 {
						t.Fatalf("At(%d, %d) = %v, want %v", i, j, got, want)
					}
				}
				if math.Abs(norms[j]-norm) > 1e-5*norm {
					t.Fatalf("‖P^[%d]‖² = %v, want %v", j, norms[j], norm)
				}
				if c.p.RowNNZ(j) != a.Degree(j)+1 {
					t.Fatalf("row %d has %d entries", j, c.p.RowNNZ(j))
				}
			}
		}
	})
}

func TestLaplacianValidate(t *testing.T) {
	a := &CSR{Rows: 2, Cols: 2, Ptr: []int64{0, 1, 2}, Idx: []int32{1, 0}}
	for name, p := range map[string]*Laplacian{
		"zero value":     {},
		"scales missing": {Adjacency: a, RowScale: []float32{1}, ColScale: []float32{1, 1}},
		"scale 0":        {Adjacency: a, RowScale: []float32{1, 0}, ColScale: []float32{1, 1}},
		"scale infinite": {Adjacency: a, RowScale: []float32{1, 1}, ColScale: []float32{1, float32(math.Inf(1))}},
	} {
		if err := p.Validate(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// Without a graph there is a Laplacian of no nodes, which Validate refuses.
func TestLaplacianOfNil(t *testing.T) {
	for _, p := range []*Laplacian{NewLaplacian(nil), NewRowLaplacian(nil)} {
		if err := p.Validate(); !errors.Is(err, ErrInvalid) || p.Nodes() != 0 {
			t.Errorf("%d nodes, %v", p.Nodes(), err)
		}
	}
}

// RowSums sums each row, whichever core it is on, and stops when its context is done.
func TestRowSums(t *testing.T) {
	const n = 2*rowRange + 5
	b, err := NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for v := int32(1); v < n; v++ {
		if err := b.Add(v, v/2); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	p := NewLaplacian(a)
	sums, err := p.RowSums(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for v, sum := range sums {
		if want := float32(p.RowSum(v)); sum != want || sum == 0 {
			t.Fatalf("row %d sums to %v, want %v", v, sum, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.RowSums(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
