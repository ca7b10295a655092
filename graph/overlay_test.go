package graph

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainGraph is the reference of an Overlay: maps, and a graph built anew from them.
type plainGraph struct {
	directed bool
	edges    map[Edge]float32 // both directions of an undirected edge
	features [][]float32      // nil: the node was removed
}

func (g *plainGraph) clone() *plainGraph {
	return &plainGraph{g.directed, maps.Clone(g.edges), slices.Clone(g.features)}
}

func (g *plainGraph) apply(c *Change) {
	g.features = append(g.features, c.AddNodes...)
	both := func(e Edge, do func(Edge)) {
		do(e)
		if !g.directed {
			do(Edge{e.V, e.U})
		}
	}
	for _, e := range c.RemoveEdges {
		both(e, func(e Edge) { delete(g.edges, e) })
	}
	for k, e := range c.AddEdges {
		both(e, func(e Edge) {
			g.edges[e] = 1
			if c.Weights != nil {
				g.edges[e] = c.Weights[k]
			}
		})
	}
	for _, f := range c.SetFeatures {
		g.features[f.Node] = f.Values
	}
	for _, v := range c.RemoveNodes {
		g.features[v] = nil
		maps.DeleteFunc(g.edges, func(e Edge, _ float32) bool { return e.U == v || e.V == v })
	}
}

// matrix returns the adjacency matrix, with empty rows for removed nodes.
func (g *plainGraph) matrix(weighted bool) *CSR {
	n := len(g.features)
	a := &CSR{Rows: n, Cols: n, Ptr: []int64{0}}
	rows := make([][]int32, n)
	for e := range g.edges {
		rows[e.U] = append(rows[e.U], e.V)
	}
	for u, row := range rows {
		slices.Sort(row)
		a.Idx = append(a.Idx, row...)
		for _, v := range row {
			if weighted {
				a.Val = append(a.Val, g.edges[Edge{int32(u), v}])
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

// randomChange makes a change that a graph takes.
func randomChange(rng *rand.Rand, g *plainGraph, weighted bool) *Change {
	c := new(Change)
	row := func() []float32 { return []float32{rng.Float32(), rng.Float32()} }
	there := func(v int) bool { return v >= len(g.features) || g.features[v] != nil }
	for range rng.IntN(3) {
		c.AddNodes = append(c.AddNodes, row())
	}
	n := len(g.features) + len(c.AddNodes)
	node := func() int32 {
		for {
			if v := rng.IntN(n); there(v) {
				return int32(v)
			}
		}
	}
	edge := func() Edge {
		for {
			if e := (Edge{node(), node()}); e.U != e.V {
				return e
			}
		}
	}
	for range rng.IntN(6) {
		c.AddEdges = append(c.AddEdges, edge())
		if weighted {
			c.Weights = append(c.Weights, 0.5+rng.Float32())
		}
	}
	for range rng.IntN(4) {
		c.RemoveEdges = append(c.RemoveEdges, edge())
	}
	for e := range g.edges { // an edge that is there
		if there(int(e.U)) && there(int(e.V)) {
			c.RemoveEdges = append(c.RemoveEdges, e)
		}
		break
	}
	for range rng.IntN(3) {
		c.SetFeatures = append(c.SetFeatures, NodeFeatures{node(), row()})
	}
	if rng.IntN(3) == 0 {
		c.RemoveNodes = []int32{node()}
	}
	return c
}

// TestOverlay applies random changes, and compares each version with a graph built anew:
// rows, scales to the bit, features, numbers of edges; and each earlier version with itself.
func TestOverlay(t *testing.T) {
	for _, c := range []struct {
		name               string
		directed, weighted bool
		laplacian          func(*CSR) *Laplacian
		n                  int
	}{ // 130 nodes are more than two pages, 4,090 with the added ones more than a table
		{"symmetric", false, false, NewLaplacian, 4090}, {"weighted", false, true, NewLaplacian, 130},
		{"rows", false, false, NewRowLaplacian, 130}, {"weighted rows", false, true, NewRowLaplacian, 130},
		{"directed", true, false, NewDirectedLaplacian, 130}, {"directed, weighted", true, true, NewDirectedLaplacian, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			g := &plainGraph{directed: c.directed, edges: map[Edge]float32{}}
			n := c.n
			for range n {
				g.apply(&Change{AddNodes: [][]float32{{rng.Float32(), rng.Float32()}}})
			}
			for range 40 {
				change := randomChange(rng, g, c.weighted)
				change.RemoveNodes, change.AddNodes = nil, nil
				for k := range change.AddEdges {
					change.AddEdges[k] = Edge{change.AddEdges[k].U % int32(n), change.AddEdges[k].V % int32(n)}
				}
				change.RemoveEdges, change.SetFeatures = nil, nil
				if !slices.ContainsFunc(change.AddEdges, func(e Edge) bool { return e.U == e.V }) {
					g.apply(change)
				}
			}
			x := &Features{Rows: n, Cols: 2}
			for _, row := range g.features {
				x.Data = append(x.Data, row...)
			}
			o, err := NewOverlay(c.laplacian(g.matrix(c.weighted)), x)
			if err != nil {
				t.Fatal(err)
			}
			type version struct {
				o *Overlay
				g *plainGraph
			}
			versions, draft := []version{{o, g.clone()}}, o.Draft()
			for range 60 {
				change := randomChange(rng, g, c.weighted)
				if o, err = o.Apply(change); err != nil {
					t.Fatal(err)
				}
				if err := draft.Change(change); err != nil {
					t.Fatal(err)
				}
				g.apply(change)
				versions = append(versions, version{o, g.clone()})
				if len(versions)%20 == 0 { // a draft of many changes, and one over it
					if err := draft.Finish(); err != nil {
						t.Fatal(err)
					}
					versions, draft = append(versions, version{draft, g.clone()}), draft.Draft()
				}
			}
			for k, v := range versions {
				checkOverlay(t, fmt.Sprint("version ", k), v.o, v.g, c.laplacian(v.g.matrix(c.weighted)), rng)
			}
		})
	}
}

// sameRow reports whether o has the features of node v, and its row of P with its sum to the bit.
func sameRow(o *Overlay, v int32, features []float32, p *Laplacian) bool {
	got, row := o.Features(v), o.Propagation(v)
	k := 0
	for u, entry := range p.Row(int(v)) {
		want := p.RowScale[v] * p.ColScale[u]
		if k > 0 {
			want = p.RowScale[v] * float32(Weight(p.Adjacency.RowValues(int(v)), k-1)) * p.ColScale[u]
		}
		if k == len(row.Columns) || row.Columns[k] != u || row.Entries[k] != want || math.Abs(entry-float64(want)) > 1e-6 {
			return false
		}
		k++
	}
	return slices.Equal(got, features) && k == len(row.Columns) && float32(row.Sum) == float32(p.RowSum(int(v)))
}

func checkOverlay(t *testing.T, what string, o *Overlay, g *plainGraph, p *Laplacian, rng *rand.Rand) {
	t.Helper()
	edges := p.Adjacency.NNZ()
	if !g.directed {
		edges /= 2
	}
	if o.Nodes() != len(g.features) || o.Edges() != edges {
		t.Fatalf("%s: %d nodes and %d edges, want %d and %d", what, o.Nodes(), o.Edges(), len(g.features), edges)
	}
	var there []int32
	for v, row := range g.features {
		neighbors, weights := o.Row(int32(v))
		if o.Has(int32(v)) != (row != nil) || !slices.Equal(neighbors, p.Adjacency.Row(v)) ||
			weights != nil && p.Adjacency.Val != nil && !slices.Equal(weights, p.Adjacency.RowValues(v)) || row != nil && !sameRow(o, int32(v), row, p) {
			t.Fatalf("%s: node %d differs", what, v)
		}
		if row != nil {
			there = append(there, int32(v))
		}
	}
	nodes := []int32{there[rng.IntN(len(there))], there[rng.IntN(len(there))]}
	local, ids, err := o.Around(nodes, 2)
	if err != nil || local.Validate() != nil {
		t.Fatal(what, err)
	}
	x := o.Gather(ids)
	reach := map[int32]bool{} // within one edge
	for _, v := range nodes {
		reach[v] = true
		for _, u := range p.Adjacency.Row(int(v)) {
			reach[u] = true
		}
	}
	inside := len(reach)
	for k, v := range ids {
		if local.RowScale[k] != p.RowScale[v] || local.ColScale[k] != p.ColScale[v] || !slices.Equal(x.Row(k), g.features[v]) {
			t.Fatalf("%s: node %d around %v differs", what, v, nodes)
		}
		var row []int32
		for _, u := range local.Adjacency.Row(k) {
			row = append(row, ids[u])
		}
		if k < inside && (!slices.Equal(row, p.Adjacency.Row(int(v))) || local.Adjacency.Val != nil && p.Adjacency.Val != nil && !slices.Equal(local.Adjacency.RowValues(k), p.Adjacency.RowValues(int(v)))) {
			t.Fatalf("%s: the row of node %d around %v differs", what, v, nodes)
		}
		if reach[v] != (k < inside) || k >= inside && row != nil {
			t.Fatalf("%s: node %d around %v has a row, and no output reads it", what, v, nodes)
		}
	}
}

// TestOverlayErrors checks that a change with a fault changes nothing.
func TestOverlayErrors(t *testing.T) {
	a := &CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2, 2}, Idx: []int32{1, 0}}
	x := &Features{Rows: 3, Cols: 1, Data: []float32{1, 2, 3}}
	o, err := NewOverlay(NewLaplacian(a), x)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = o.Apply(&Change{RemoveNodes: []int32{2}}); err != nil {
		t.Fatal(err)
	}
	inf := float32(math.Inf(1))
	for name, c := range map[string]Change{
		"an unknown node":        {AddEdges: []Edge{{0, 3}}},
		"a negative node":        {RemoveEdges: []Edge{{-1, 0}}},
		"a removed node":         {AddEdges: []Edge{{0, 2}}},
		"a node removed twice":   {RemoveNodes: []int32{1, 1}},
		"features of a removed":  {SetFeatures: []NodeFeatures{{2, []float32{1}}}},
		"an edge to itself":      {AddEdges: []Edge{{1, 1}}},
		"too many features":      {AddNodes: [][]float32{{1, 2}}},
		"an infinite feature":    {SetFeatures: []NodeFeatures{{0, []float32{inf}}}},
		"a weight of 0":          {AddEdges: []Edge{{0, 1}}, Weights: []float32{0}},
		"an infinite weight":     {AddEdges: []Edge{{0, 1}}, Weights: []float32{inf}},
		"fewer weights":          {AddEdges: []Edge{{0, 1}}, Weights: []float32{}},
		"a fault after a change": {AddNodes: [][]float32{{1}}, RemoveEdges: []Edge{{0, 1}}, RemoveNodes: []int32{9}},
	} {
		if next, err := o.Apply(&c); !errors.Is(err, ErrInvalid) || next != nil {
			t.Errorf("%s: %v", name, err)
		}
		draft := o.Draft()
		if err := draft.Change(&c); !errors.Is(err, ErrInvalid) || draft.Change(&Change{}) != err || draft.Finish() != err {
			t.Errorf("%s in a draft: %v", name, err)
		}
	}
	if err := o.Change(&Change{AddNodes: [][]float32{{1}}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a change of no draft: %v", err)
	}
	if o.Nodes() != 3 || o.Edges() != 1 || !o.Has(0) || o.Has(2) || o.Has(3) || o.Has(-1) {
		t.Error("a refused change has changed the graph")
	}
	for name, f := range map[string]func() error{
		"no Laplacian": func() error { _, err := NewOverlay(nil, x); return err },
		"no features":  func() error { _, err := NewOverlay(NewLaplacian(a), nil); return err },
		"fewer features": func() error {
			_, err := NewOverlay(NewLaplacian(a), &Features{Rows: 2, Cols: 1, Data: x.Data[:2]})
			return err
		},
		"around a node gone": func() error { _, _, err := o.Around([]int32{2}, 1); return err },
	} {
		if err := f(); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
