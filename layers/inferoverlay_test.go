package layers

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestInferOverlay changes graphs at random, and compares with inference on a graph that is
// built anew: the bits are the same.
func TestInferOverlay(t *testing.T) {
	for name, c := range inferenceCases {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			const n = 150
			laplacian := graph.NewLaplacian
			if c.byRow {
				laplacian = graph.NewRowLaplacian
			}
			p := laplacian(randomGraph(t, rng, n, 200, c.weighted))
			x, y := randomFeatures(rng, n, c.features), randomLabels(rng, n, c.classes)
			c.options.Hidden = c.hidden
			_, m := testModel(t, p, x, y, c.depth, c.options)
			o, err := graph.NewOverlay(p, x)
			if err != nil {
				t.Fatal(err)
			}
			exact, err := NewExactInput(context.Background(), p, x, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 8 {
				change := randomChange(rng, o, x.Cols, c.weighted)
				if o, err = o.Apply(change); err != nil {
					t.Fatal(err)
				}
				anew, features, number := builtAnew(t, o)
				var nodes, places []int32 // some, in any order, one twice
				for range 3 {
					v := int32(rng.IntN(o.Nodes()))
					for !o.Has(v) {
						v = int32(rng.IntN(o.Nodes()))
					}
					nodes, places = append(nodes, v), append(places, number[v])
				}
				nodes, places = append(nodes, nodes[0]), append(places, places[0])
				got, err := m.InferOverlay(context.Background(), o, nodes)
				if err != nil {
					t.Fatal(err)
				}
				var labelOf []int32
				for v := range int32(o.Nodes()) {
					switch {
					case !o.Has(v):
					case v < n:
						labelOf = append(labelOf, v)
					default:
						labelOf = append(labelOf, math.MaxInt32)
					}
				}
				whole, err := m.call(laplacian(anew), features, places, labelOf)
				if err != nil {
					t.Fatal(err)
				}
				want, err := infer(context.Background(), m.full, whole)
				if err != nil {
					t.Fatal(err)
				}
				m.ReadPropagated(exact)
				kept, err := m.InferOverlay(context.Background(), o, nodes)
				m.ReadPropagated(nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, want) || !slices.Equal(kept, want) {
					t.Fatalf("nodes %v: %v, with P·X kept %v, built anew %v", nodes, got, kept, want)
				}
			}
		})
	}
}

// randomChange makes a change that o takes.
func randomChange(rng *rand.Rand, o *graph.Overlay, features int, weighted bool) *graph.Change {
	c := new(graph.Change)
	row := func() []float32 { return randomFeatures(rng, 1, features).Data }
	for range rng.IntN(3) {
		c.AddNodes = append(c.AddNodes, row())
	}
	node := func() int32 {
		for {
			if v := int32(rng.IntN(o.Nodes() + len(c.AddNodes))); int(v) >= o.Nodes() || o.Has(v) {
				return v
			}
		}
	}
	for range 10 {
		e := graph.Edge{U: node(), V: node()}
		if e.U == e.V {
			continue
		}
		if rng.IntN(3) == 0 {
			c.RemoveEdges = append(c.RemoveEdges, e)
			continue
		}
		c.AddEdges = append(c.AddEdges, e)
		if weighted {
			c.Weights = append(c.Weights, 0.5+rng.Float32())
		}
	}
	v := node()
	if neighbors, _ := neighborsOf(o, v); len(neighbors) > 0 {
		c.RemoveEdges = append(c.RemoveEdges, graph.Edge{U: v, V: neighbors[0]})
	}
	c.SetFeatures = []graph.NodeFeatures{{Node: node(), Values: row()}}
	c.RemoveNodes = []int32{node()}
	return c
}

// neighborsOf is o.Row, also for a node that o does not hold yet.
func neighborsOf(o *graph.Overlay, v int32) ([]int32, []float32) {
	if int(v) >= o.Nodes() {
		return nil, nil
	}
	return o.Row(v)
}

// builtAnew builds the graph of o without the removed nodes, and returns the new number of each
// node.
func builtAnew(t *testing.T, o *graph.Overlay) (*graph.CSR, *graph.Features, []int32) {
	t.Helper()
	number, n := make([]int32, o.Nodes()), int32(0)
	x := &graph.Features{}
	for v := range int32(o.Nodes()) {
		if number[v] = n; o.Has(v) {
			n++
			values, _ := o.Features(v)
			x.Data, x.Cols = append(x.Data, values...), len(values)
		}
	}
	x.Rows = int(n)
	b, err := graph.NewBuilder(x.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for v := range int32(o.Nodes()) {
		if !o.Has(v) {
			continue
		}
		neighbors, weights := o.Row(v)
		for k, u := range neighbors {
			weight := float32(1)
			if weights != nil {
				weight = weights[k]
			}
			if err := b.AddWeighted(number[v], number[u], weight); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, _ := b.Build()
	return a, x, number
}
