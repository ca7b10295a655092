package layers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// newNode is a node that a graph does not hold.
type newNode struct {
	Features  []float32
	Neighbors []int32
	Weights   []float32
}

// inferNew returns the logits of a node as if it were in the graph.
func inferNew(m *GCN, p *graph.Laplacian, x *graph.Features, node newNode) ([]float32, error) {
	o, err := graph.NewOverlay(p, x)
	if err != nil {
		return nil, err
	}
	if o, err = o.With(node.Features, node.Neighbors, node.Weights); err != nil {
		return nil, err
	}
	return m.InferOverlay(context.Background(), o, []int32{int32(o.Nodes() - 1)})
}

// TestInferNewAgrees compares with inference on the graph that holds the node.
func TestInferNewAgrees(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			larger := randomGraph(t, rng, n, 200, c.weighted)
			for _, last := range []int{n - 1, busiest(larger)} {
				a := moved(t, larger, last) // its last node is the new one
				neighbors := slices.Clone(a.Row(n - 1))
				weights := slices.Clone(a.RowValues(n - 1))
				laplacian := graph.NewLaplacian
				if c.byRow {
					laplacian = graph.NewRowLaplacian
				}
				p, small := laplacian(a), laplacian(without(t, a))
				x, y := randomFeatures(rng, n, c.features), randomLabels(rng, n, c.classes)
				c.options.Hidden = c.hidden
				rest := &graph.Features{Rows: n - 1, Cols: x.Cols, Data: x.Data[:(n-1)*x.Cols]}
				_, m := testModel(t, small, rest, &graph.Labels{Classes: y.Classes, Class: y.Class[:n-1]}, c.depth, c.options)
				want := denseLogits(t, p, x, m, c.options)
				for range 2 {
					got, err := inferNew(m, small, rest, newNode{Features: x.Row(n - 1), Neighbors: neighbors, Weights: weights})
					if err != nil {
						t.Fatal(err)
					}
					checkClose(t, fmt.Sprint(len(neighbors), " neighbours"), got, want, []int32{n - 1}[:1:1])
				}
			}
		})
	}
}

// busiest returns the node of the largest degree.
func busiest(a *graph.CSR) int {
	best := 0
	for v := range a.Rows {
		if a.Degree(v) > a.Degree(best) {
			best = v
		}
	}
	return best
}

// moved returns a with the numbers of one node and of the last exchanged.
func moved(t testing.TB, a *graph.CSR, node int) *graph.CSR {
	t.Helper()
	name := func(v int32) int32 {
		switch int(v) {
		case node:
			return int32(a.Rows - 1)
		case a.Rows - 1:
			return int32(node)
		}
		return v
	}
	return rebuilt(t, a, a.Rows, name)
}

// without returns a without its last node.
func without(t testing.TB, a *graph.CSR) *graph.CSR {
	return rebuilt(t, a, a.Rows-1, func(v int32) int32 { return v })
}

func rebuilt(t testing.TB, a *graph.CSR, n int, name func(int32) int32) *graph.CSR {
	t.Helper()
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for v := range int32(a.Rows) {
		values := a.RowValues(int(v))
		for k, u := range a.Row(int(v)) {
			weight := float32(1)
			if values != nil {
				weight = values[k]
			}
			if i, j := name(v), name(u); i < j && int(j) < n {
				if err := b.AddWeighted(i, j, weight); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	csr, _ := b.Build()
	return csr
}

func TestInferNewErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := graph.NewLaplacian(randomGraph(t, rng, 20, 40, false))
	x := randomFeatures(rng, 20, 3)
	_, m := testModel(t, p, x, randomLabels(rng, 20, 4), 2, GCNOptions{Hidden: 5})
	other := *p
	other.RowScale = slices.Repeat([]float32{2}, 20)
	for _, c := range []struct {
		p    *graph.Laplacian
		node newNode
		want string
	}{
		{p, newNode{Features: []float32{1, 2}}, "2 features"},
		{p, newNode{Features: []float32{1, 2, float32(math.NaN())}}, "feature 2"},
		{p, newNode{Features: x.Row(0), Neighbors: []int32{4, 21}}, "no node 21"},
		{p, newNode{Features: x.Row(0), Neighbors: []int32{-1}}, "no node -1"},

		{p, newNode{Features: x.Row(0), Neighbors: []int32{4}, Weights: []float32{1, 2}}, "2 weights of 1"},
		{p, newNode{Features: x.Row(0), Neighbors: []int32{4}, Weights: []float32{-1}}, "weight -1"},
		{&other, newNode{Features: x.Row(0), Neighbors: []int32{4}}, "scales of its own"},
		{nil, newNode{Features: x.Row(0)}, "Laplacian"},
	} {
		if _, err := inferNew(m, c.p, x, c.node); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
	if _, err := inferNew(m, p, x, newNode{Features: x.Row(0)}); err != nil {
		t.Error("a node without neighbours:", err)
	}
}

// TestInferConcurrently compares concurrent calls for few, many and new nodes with calls one
// after the other: the bits are the same.
func TestInferConcurrently(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 3000
	p := graph.NewLaplacian(randomGraph(t, rng, n, 9000, false))
	x, y := randomFeatures(rng, n, 12), randomLabels(rng, n, 5)
	for name, o := range map[string]GCNOptions{"gcn": {Hidden: 8}, "gat": {Hidden: 8, Heads: 2}} {
		_, m := testModel(t, p, x, y, 3, o)
		calls := make([]func() ([]float32, error), 40)
		for k := range calls {
			nodes := nodesOf(rng, n, []int{1, 3, 40, 500}[k%4])
			nodes = append(nodes, nodes[0]) // twice
			calls[k] = func() ([]float32, error) { return m.Infer(context.Background(), p, x, nodes) }
			if k%5 == 4 {
				node := newNode{Features: x.Row(k), Neighbors: nodes[:len(nodes)-1]}
				calls[k] = func() ([]float32, error) { return inferNew(m, p, x, node) }
			}
		}
		want := make([][]float32, len(calls))
		for k, call := range calls {
			var err error
			if want[k], err = call(); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		for k, call := range calls {
			group.Go(func() {
				if got, err := call(); err != nil || !slices.Equal(got, want[k]) {
					t.Errorf("%s: concurrent call %d gives other bits, or %v", name, k, err)
				}
			})
		}
		group.Wait()
	}
}

// TestInferFewAllocates checks that a call for one node allocates its result and little
// else, for a graph of any size.
func TestInferFewAllocates(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 100_000
	p := graph.NewLaplacian(randomGraph(t, rng, n, n, false))
	x, y := randomFeatures(rng, n, 4), randomLabels(rng, n, 5)
	_, m := testModel(t, p, x, y, 2, GCNOptions{Hidden: 8})
	node := []int32{7}
	result := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			node[0] = (node[0] + 7919) % n
			if _, err := m.Infer(context.Background(), p, x, node); err != nil {
				b.Fatal(err)
			}
		}
	})
	if bytes := result.AllocedBytesPerOp(); bytes > 9<<10 && !testing.Short() {
		t.Errorf("a call allocates %d bytes", bytes)
	}
	t.Log(result, result.MemString())
}
