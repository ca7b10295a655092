package study

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// randomLaplacian returns the Laplacian of a random graph, weighted or not.
func randomLaplacian(t testing.TB, nodes, edges int, weighted bool, seed uint64) *graph.Laplacian {
	t.Helper()
	b, err := graph.NewBuilder(nodes)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(samplers.NewSource(seed, 0, 0))
	for range edges {
		w := float32(1)
		if weighted {
			w = 0.5 + rng.Float32()
		}
		if err := b.AddWeighted(rng.Int32N(int32(nodes)), rng.Int32N(int32(nodes)), w); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	return graph.NewLaplacian(a)
}

// randomRows returns normal rows about a common mean.
func randomRows(nodes, columns int, mean float64, seed uint64) *graph.Features {
	rng := rand.New(samplers.NewSource(seed, 1, 0))
	x := &graph.Features{Rows: nodes, Cols: columns, Data: make([]float32, nodes*columns)}
	for k := range x.Data {
		x.Data[k] = float32(mean + rng.NormFloat64())
	}
	return x
}

// allNodes returns 0 … n-1.
func allNodes(n int) []int32 {
	nodes := make([]int32, n)
	for i := range nodes {
		nodes[i] = int32(i)
	}
	return nodes
}

// terms returns the candidates and X_i = (QP)^[i] (HW)_[i] of each, flattened. It
// computes them the slow and obvious way, from the dense matrix.
func terms(p *graph.Laplacian, rows []int32, c *graph.Features) (candidates []int32, x [][]float64) {
	dense, n := p.Dense(), p.Nodes()
	for i := range n {
		var term []float64
		some := false
		for _, r := range rows {
			v := dense[int(r)*n+i]
			some = some || v != 0
			for _, h := range c.Row(i) {
				term = append(term, v*float64(h))
			}
		}
		if some {
			candidates, x = append(candidates, int32(i)), append(x, term)
		}
	}
	return candidates, x
}

func dot(a, b []float64) float64 {
	var sum float64
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

// errorParts returns the exact ‖E D‖² and E‖D−E D‖² of D = Σ(β_i−1)X_i.
func errorParts(m *Moments, x [][]float64) (bias2, variance float64) {
	for i := range x {
		for j := range x {
			d := dot(x[i], x[j])
			bias2 += (m.Mean[i] - 1) * (m.Mean[j] - 1) * d
			variance += m.Cov[i][j] * d
		}
	}
	return bias2, variance
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// ringLaplacian returns a cycle, in which every node has two neighbours.
func ringLaplacian(t testing.TB, nodes int) *graph.Laplacian {
	return builtLaplacian(t, nodes, func(add func(u, v int)) {
		for i := range nodes {
			add(i, (i+1)%nodes)
		}
	})
}

// starLaplacian returns a star about node 0.
func starLaplacian(t testing.TB, nodes int) *graph.Laplacian {
	return builtLaplacian(t, nodes, func(add func(u, v int)) {
		for i := 1; i < nodes; i++ {
			add(0, i)
		}
	})
}

func builtLaplacian(t testing.TB, nodes int, build func(add func(u, v int))) *graph.Laplacian {
	t.Helper()
	b, err := graph.NewBuilder(nodes)
	if err != nil {
		t.Fatal(err)
	}
	build(func(u, v int) {
		if err := b.Add(int32(u), int32(v)); err != nil {
			t.Fatal(err)
		}
	})
	a, _ := b.Build()
	return graph.NewLaplacian(a)
}

func sqrt(x float64) float64 { return math.Sqrt(x) }
