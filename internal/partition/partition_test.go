package partition

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"pgregory.net/rapid"
)

func build(t testing.TB, n int, edges [][2]int32) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edges {
		if err := b.Add(e[0], e[1]); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	return a
}

// cut returns the number of undirected edges between parts.
func cut(a *graph.CSR, part []int32) (edges int64) {
	for v := range a.Rows {
		for _, u := range a.Row(v) {
			if part[v] != part[u] {
				edges++
			}
		}
	}
	return edges / 2
}

// TestMultilevelProperties checks, for any graph and number of parts, that every node
// has a part, that no part is empty or above the documented limit, and that a second
// run gives the same parts.
func TestMultilevelProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(rt, "nodes")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		var edges [][2]int32
		for range rapid.IntRange(0, 2000).Draw(rt, "edges") {
			hub := int32(float64(n) * math.Pow(rng.Float64(), 4))
			edges = append(edges, [2]int32{int32(rng.IntN(n)), hub})
		}
		a := build(t, n, edges)
		parts := rapid.IntRange(1, n).Draw(rt, "parts")
		part, err := Multilevel(a, parts)
		if err != nil {
			rt.Fatal(err)
		}
		sizes := make([]int, parts)
		for _, p := range part {
			sizes[p]++
		}
		limit := int(math.Ceil((1 + imbalance) * math.Ceil(float64(n)/float64(parts))))
		for p, size := range sizes {
			if size == 0 || size > limit {
				rt.Fatalf("part %d of %d has %d of %d nodes, want 1 to %d", p, parts, size, n, limit)
			}
		}
		if again, _ := Multilevel(a, parts); !slices.Equal(part, again) {
			rt.Fatal("a second run differs")
		}
	})
}

// planted returns a graph of blocks, and the number of edges between blocks. The nodes
// are in random order; a node has, on average, inside neighbours in its block and
// outside neighbours elsewhere.
func planted(t testing.TB, blocks, size, inside, outside int) (*graph.CSR, int64) {
	n := blocks * size
	rng := rand.New(rand.NewPCG(5, 0))
	order := rng.Perm(n)
	var edges [][2]int32
	block := make([]int32, n)
	for k, v := range order {
		block[v] = int32(k / size)
		for range inside / 2 {
			edges = append(edges, [2]int32{int32(v), int32(order[k/size*size+rng.IntN(size)])})
		}
		for range outside / 2 {
			edges = append(edges, [2]int32{int32(v), int32(rng.IntN(n))})
		}
	}
	a := build(t, n, edges)
	return a, cut(a, block)
}

// TestMultilevelFindsBlocks checks that the parts are blocks with few edges between
// them: the cut is close to the planted cut. Random parts cut nearly all edges.
func TestMultilevelFindsBlocks(t *testing.T) {
	for _, c := range []struct{ blocks, size int }{{4, 2000}, {60, 100}} {
		a, want := planted(t, c.blocks, c.size, 16, 4)
		part, err := Multilevel(a, c.blocks)
		if err != nil {
			t.Fatal(err)
		}
		got := cut(a, part)
		t.Logf("%d blocks of %d: cut %d, planted %d, of %d edges", c.blocks, c.size, got, want, a.NNZ()/2)
		if float64(got) > 1.3*float64(want) {
			t.Errorf("%d blocks of %d: cut %d, planted %d", c.blocks, c.size, got, want)
		}
	}
}

// TestErrors checks the number of parts.
func TestErrors(t *testing.T) {
	a := build(t, 3, [][2]int32{{0, 1}})
	for _, parts := range []int{-1, 0, 4} {
		if _, err := Multilevel(a, parts); err == nil {
			t.Errorf("%d parts of 3 nodes: no error", parts)
		}
	}
}

func BenchmarkMultilevel(b *testing.B) {
	a, _ := planted(b, 1000, 100, 12, 4)
	b.ReportAllocs()
	for b.Loop() {
		part, err := Multilevel(a, 1000)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(cut(a, part))/float64(a.NNZ()/2), "cut")
	}
}
