package graph

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBuilder compares with a map from each pair of nodes to its first weight.
func TestBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		b, err := NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		weights := map[[2]int32]float32{}
		var want Report
		weighted := false
		for range rapid.IntRange(0, 60).Draw(t, "edges") {
			u, v := rapid.Int32Range(0, int32(n-1)).Draw(t, "u"), rapid.Int32Range(0, int32(n-1)).Draw(t, "v")
			w := rapid.SampledFrom([]float32{1, 1, 0.5, 2}).Draw(t, "weight")
			if err := b.AddWeighted(u, v, w); err != nil {
				t.Fatal(err)
			}
			want.Given++
			weighted = weighted || w != 1
			_, there := weights[[2]int32{min(u, v), max(u, v)}]
			switch {
			case u == v:
				want.SelfLoops++
			case there:
				want.Duplicates++
			default:
				weights[[2]int32{min(u, v), max(u, v)}] = w
				want.Edges++
			}
		}
		m, report := b.Build()
		if report != want {
			t.Fatalf("report %+v, want %+v", report, want)
		}
		if err := m.ValidateAdjacency(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if (m.Val != nil) != weighted {
			t.Fatalf("values kept: %v, want %v", m.Val != nil, weighted)
		}
		d := dense(m)
		for i := range n {
			for j := range n {
				if got := weights[[2]int32{int32(min(i, j)), int32(max(i, j))}]; float64(got) != d[i][j] {
					t.Fatalf("weight of (%d, %d) is %v, want %v", i, j, d[i][j], got)
				}
			}
		}
	})
}

// TestBuilderManyEdges adds more edges than a chunk and more rows than a range, with
// the first weight in between.
func TestBuilderManyEdges(t *testing.T) {
	const n = 10_000
	build := func() *CSR {
		b, err := NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		for k := range int32(2*builderChunk + 100) {
			w := float32(1)
			if k > builderChunk+50 {
				w = 2
			}
			if err := b.AddWeighted(k%n, (k*7+k/n)%n, w); err != nil {
				t.Fatal(err)
			}
		}
		m, _ := b.Build()
		return m
	}
	m := build()
	if err := m.ValidateAdjacency(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if other := build(); !slices.Equal(m.Idx, other.Idx) || !slices.Equal(m.Val, other.Val) {
		t.Error("one core builds another matrix")
	}
}

// TestAddEdges compares with adding edge by edge, over several chunks and after an
// edge with a weight.
func TestAddEdges(t *testing.T) {
	const n = 5000
	for _, weight := range []float32{1, 2} {
		one, err := NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		all, err := NewBuilder(n)
		if err != nil {
			t.Fatal(err)
		}
		var edges []Edge
		for k := range int32(2*builderChunk + 100) {
			edges = append(edges, Edge{k % n, (k*11 + k/n) % n})
		}
		for _, b := range []*Builder{one, all} {
			if err := b.AddWeighted(1, 2, weight); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range edges {
			if err := one.Add(e.U, e.V); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.AddEdges(edges[:7]); err != nil {
			t.Fatal(err)
		}
		if err := all.AddEdges(edges[7:]); err != nil {
			t.Fatal(err)
		}
		want, wantReport := one.Build()
		got, report := all.Build()
		if report != wantReport || !slices.Equal(got.Ptr, want.Ptr) || !slices.Equal(got.Idx, want.Idx) || !slices.Equal(got.Val, want.Val) {
			t.Errorf("weight %v: another matrix: %+v, want %+v", weight, report, wantReport)
		}
		if (got.Val != nil) != (weight != 1) {
			t.Errorf("weight %v: values kept: %v", weight, got.Val != nil)
		}
	}
}

func TestAddEdgesStopsAtTheFirstBad(t *testing.T) {
	for _, bad := range []Edge{{-1, 0}, {0, 3}, {math.MinInt32, 1}, {1, math.MaxInt32}} {
		b, err := NewBuilder(3)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.AddEdges([]Edge{{0, 1}, {1, 1}, bad, {1, 2}}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: error is %v", bad, err)
		}
		if m, report := b.Build(); m.NNZ() != 2 || report != (Report{Given: 2, SelfLoops: 1, Edges: 1}) {
			t.Errorf("%v: %d entries, %+v", bad, m.NNZ(), report)
		}
	}
}

func TestBuilderErrors(t *testing.T) {
	tooMany := math.MaxInt32
	tooMany++ // negative if an int has 32 bits
	for _, n := range []int{-1, tooMany} {
		if _, err := NewBuilder(n); !errors.Is(err, ErrInvalid) {
			t.Errorf("%d nodes: error is %v", n, err)
		}
	}
	b, err := NewBuilder(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		u, v   int32
		weight float32
	}{{-1, 0, 1}, {0, 2, 1}, {0, 1, 0}, {0, 1, -1}, {0, 1, float32(math.NaN())}, {0, 1, float32(math.Inf(1))}} {
		if err := b.AddWeighted(c.u, c.v, c.weight); !errors.Is(err, ErrInvalid) {
			t.Errorf("edge %+v: error is %v", c, err)
		}
	}
	if m, report := b.Build(); m.NNZ() != 0 || report.Given != 0 {
		t.Errorf("refused edges were kept: %+v", report)
	}
}

// TestBuilderSpilled compares with the matrix made in memory, for any number of rows that are
// sorted at a time.
func TestBuilderSpilled(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "nodes")
		node := rapid.Int32Range(0, int32(n-1))
		edges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Edge { return Edge{node.Draw(t, "u"), node.Draw(t, "v")} }), 0, 200).Draw(t, "edges")
		var builders [2]*Builder
		for k := range builders {
			b, err := NewBuilder(n)
			if err == nil && k == 1 {
				err = b.Spill(dir, int64(len(edges)))
			}
			if err == nil {
				err = b.AddEdges(edges)
			}
			if err != nil {
				t.Fatal(err)
			}
			builders[k] = b
		}
		want, wantReport := builders[0].Build()
		got, report, err := builders[1].BuildSpilled(context.Background(), rapid.Int64Range(1, 900).Draw(t, "bytes"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if report != wantReport || !slices.Equal(got.Ptr, want.Ptr) || !slices.Equal(got.Idx, want.Idx) {
			t.Fatalf("rows %v %v, %+v; want %v %v, %+v", got.Ptr, got.Idx, report, want.Ptr, want.Idx, wantReport)
		}
		if err := builders[1].Close(); err != nil {
			t.Fatal(err)
		}
	})
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
