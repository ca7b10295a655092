package layers

import (
	"context"
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
			laplacian := graph.NewLaplacian
			if c.byRow {
				laplacian = graph.NewRowLaplacian
			}
			p := laplacian(randomGraph(t, rng, 150, 200, c.weighted))
			x := randomFeatures(rng, 150, c.features)
			c.options.Hidden = c.hidden
			_, m := testModel(t, p, x, randomLabels(rng, 150, c.classes), c.depth, c.options)
			checkOverlay(t, rng, laplacian, m, p, x, c.weighted)
		})
	}
}

// TestInferOverlayForms does the same with features in other forms, exact input and directed graphs.
func TestInferOverlayForms(t *testing.T) {
	half := func(x *graph.Features) *graph.Features {
		h, err := x.ToHalf()
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	same := func(x *graph.Features) *graph.Features { return x }
	thin := func(x *graph.Features) *graph.Features { // most values of P·X are 0
		for k := range x.Data {
			if k%97 > 0 {
				x.Data[k] = 0
			}
		}
		return x
	}
	for name, c := range map[string]struct {
		form      func(*graph.Features) *graph.Features
		laplacian func(*graph.CSR) *graph.Laplacian
		exact     bool
		o         GCNOptions
	}{
		"half":              {half, graph.NewLaplacian, false, GCNOptions{}},
		"half, gat":         {half, graph.NewLaplacian, false, GCNOptions{Heads: 2}},
		"sparse":            {(*graph.Features).ToSparse, graph.NewLaplacian, false, GCNOptions{}},
		"sparse, residual":  {(*graph.Features).ToSparse, graph.NewRowLaplacian, false, GCNOptions{HiddenResidual: ResidualLinear}},
		"exact input":       {same, graph.NewLaplacian, true, GCNOptions{}},
		"thin, exact input": {thin, graph.NewLaplacian, true, GCNOptions{}},
		"half, exact input": {half, graph.NewRowLaplacian, true, GCNOptions{}},
		"directed":          {same, graph.NewDirectedLaplacian, false, GCNOptions{}},
		"directed, gat":     {same, graph.NewDirectedLaplacian, false, GCNOptions{Heads: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			p := c.laplacian(randomGraph(t, rng, 150, 200, false))
			x := c.form(randomFeatures(rng, 150, 12))
			if c.o.Hidden = 14; c.exact {
				c.o.ExactInput = exactInput(t, p, x)
			}
			_, m := testModel(t, p, x, randomLabels(rng, 150, 4), 2, c.o)
			checkOverlay(t, rng, c.laplacian, m, p, x, false)
		})
	}
}

func checkOverlay(t *testing.T, rng *rand.Rand, laplacian func(*graph.CSR) *graph.Laplacian, m *GCN, p *graph.Laplacian, x *graph.Features, weighted bool) {
	t.Helper()
	o, err := graph.NewOverlay(p, x)
	if err != nil {
		t.Fatal(err)
	}
	exact := exactInput(t, p, x)
	for range 8 {
		change := randomChange(rng, o, x.Cols, weighted)
		if o, err = o.Apply(change); err != nil {
			t.Fatal(err)
		}
		anew, features, number := builtAnew(o)
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
		whole, err := m.call(laplacian(anew), features, places)
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
func builtAnew(o *graph.Overlay) (*graph.CSR, *graph.Features, []int32) {
	number, n := make([]int32, o.Nodes()), int32(0)
	x := &graph.Features{}
	for v := range int32(o.Nodes()) {
		if number[v] = n; o.Has(v) {
			n++
			values := o.Features(v)
			x.Data, x.Cols = append(x.Data, values...), len(values)
		}
	}
	x.Rows = int(n)
	a := &graph.CSR{Rows: x.Rows, Cols: x.Rows, Ptr: []int64{0}}
	weighted := false
	for v := range int32(o.Nodes()) {
		if !o.Has(v) {
			continue
		}
		neighbors, weights := o.Row(v)
		for k, u := range neighbors {
			weight := float32(graph.Weight(weights, k))
			a.Idx, a.Val, weighted = append(a.Idx, number[u]), append(a.Val, weight), weighted || weight != 1
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	if !weighted {
		a.Val = nil
	}
	return a, x, number
}
