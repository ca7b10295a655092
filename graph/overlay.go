package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Overlay is one version of a graph that changes: a base graph with its features, which stay
// as they are, and the rows that differ from it. Apply makes the next version. A version
// never changes, so that any number of goroutines may read it while others make later ones.
//
// Nodes keep their numbers: a new node gets the next one, and a removed node leaves a gap.
// A version shares the pages that it has not changed with the version before. Memory: a
// pointer for each 128 nodes of a version that is in use, and the rows that differ.
type Overlay struct {
	base  *Laplacian
	x     *Features
	pages []*overlayPage // page k has the nodes from 128·k; nil: all rows are the base's
	nodes int
	edges int64 // without self-loops; undirected ones count once
}

const pageNodes = 128

// overlayPage holds the changed row of each of its nodes; nil: the base's.
type overlayPage [pageNodes]*overlayRow

// overlayRow replaces a row of the base.
type overlayRow struct {
	neighbors   []int32   // ascending
	weights     []float32 // one for each neighbour
	row, column float32   // scales of the Laplacian
	features    []float32 // nil: the base's
	removed     bool
}

// NewOverlay returns the version without changes. p must be of NewLaplacian,
// NewRowLaplacian or NewDirectedLaplacian, with rows whose columns ascend, and whole: ranks
// cannot share it. x has a row for each node. p and x must not change afterwards. Cost:
// O(nodes/128).
func NewOverlay(p *Laplacian, x *Features) (*Overlay, error) {
	switch {
	case p == nil || p.Adjacency == nil || x == nil || x.Rows != p.Nodes() || !x.Sized():
		return nil, fmt.Errorf("graph: changes need a Laplacian, and features of its nodes: %w", ErrInvalid)
	case p.Share != nil || x.Share != nil:
		return nil, fmt.Errorf("graph: several ranks hold the graph together, so it cannot change: %w", ErrInvalid)
	}
	edges := p.Adjacency.NNZ()
	if !p.Directed {
		edges /= 2
	}
	pages := make([]*overlayPage, (p.Nodes()+pageNodes-1)/pageNodes)
	return &Overlay{base: p, x: x, pages: pages, nodes: p.Nodes(), edges: edges}, nil
}

// Change is a batch of changes, in the order of the fields. It states how the graph is
// afterwards: an edge to add may be there already, and then gets the weight; an edge to remove
// may be absent. In a directed graph the first node of an edge reads the second one.
type Change struct {
	AddNodes    [][]float32    // the features of each; the first node gets the number Nodes()
	RemoveEdges []Edge         //
	AddEdges    []Edge         // between two nodes that differ
	Weights     []float32      // of AddEdges, positive and finite; nil: all 1
	SetFeatures []NodeFeatures //
	RemoveNodes []int32        // with their edges
}

// NodeFeatures are the features of a node.
type NodeFeatures struct {
	Node   int32
	Values []float32
}

// Base returns the Laplacian and the features that o changes.
func (o *Overlay) Base() (*Laplacian, *Features) { return o.base, o.x }

// Nodes returns the number of nodes, with the removed ones.
func (o *Overlay) Nodes() int { return o.nodes }

// Edges returns the number of edges; undirected ones count once.
func (o *Overlay) Edges() int64 { return o.edges }

// Has reports whether v is a node that was not removed.
func (o *Overlay) Has(v int32) bool {
	return v >= 0 && int(v) < o.nodes && (o.at(v) == nil || !o.at(v).removed)
}

// at returns the row of v that replaces the base's, or nil.
func (o *Overlay) at(v int32) *overlayRow {
	if page := o.pages[uint32(v)/pageNodes]; page != nil {
		return page[uint32(v)%pageNodes]
	}
	return nil
}

// Row returns the neighbours of node v in ascending order, and the weights of the edges, nil
// if all are 1. Both must not be changed.
func (o *Overlay) Row(v int32) (neighbors []int32, weights []float32) {
	if row := o.at(v); row != nil {
		return row.neighbors, row.weights
	}
	return o.base.Adjacency.Row(int(v)), o.base.Adjacency.RowValues(int(v))
}

// Features returns the features of node v, and whether they are row v of the Data of the base's.
// They must not be changed.
func (o *Overlay) Features(v int32) (values []float32, base bool) {
	if row := o.at(v); row != nil && row.features != nil {
		return row.features, false
	}
	return o.x.Row(int(v)), o.x.Data != nil
}

// Apply returns the version after c. On an error nothing is changed. The error wraps
// ErrInvalid and names the node or the edge: a node that is not there, an edge from a node to
// itself, a wrong weight, features of another number or that are not finite. c may be used
// again. Calls may run concurrently. Cost: the rows that change, and O(nodes/128); if nodes of a
// directed graph are removed, O(edges).
func (o *Overlay) Apply(c *Change) (*Overlay, error) {
	e := overlayEdit{*o, o, map[int32]*overlayRow{}, nil}
	if c.Weights != nil && len(c.Weights) != len(c.AddEdges) {
		return nil, fmt.Errorf("graph: %d weights of %d new edges: %w", len(c.Weights), len(c.AddEdges), ErrInvalid)
	}
	for _, values := range c.AddNodes {
		e.rows[int32(e.nodes)] = new(overlayRow)
		e.setFeatures(int32(e.nodes), values)
		e.nodes++
	}
	for _, edge := range c.RemoveEdges {
		e.edge(edge, 0)
	}
	for k, edge := range c.AddEdges {
		weight := float32(Weight(c.Weights, k))
		if !(weight > 0) || !finite(weight) {
			e.fail("the edge between nodes %d and %d has weight %v, want positive and finite", edge.U, edge.V, weight)
		}
		e.edge(edge, weight)
	}
	for _, f := range c.SetFeatures {
		e.setFeatures(f.Node, f.Values)
	}
	e.remove(c.RemoveNodes)
	if e.err != nil {
		return nil, e.err
	}
	return e.version(), nil
}

// With returns the version after one more node with its edges, as Apply does. In a directed graph
// the node reads its neighbours. weights may be nil.
func (o *Overlay) With(features []float32, neighbors []int32, weights []float32) (*Overlay, error) {
	c := Change{AddNodes: [][]float32{features}, Weights: weights}
	for _, v := range neighbors {
		c.AddEdges = append(c.AddEdges, Edge{U: int32(o.nodes), V: v})
	}
	return o.Apply(&c)
}

// overlayEdit makes a version from the one before.
type overlayEdit struct {
	Overlay // the version that it makes, with the pages of from
	from    *Overlay
	rows    map[int32]*overlayRow // that differ from those of from
	err     error                 // the first one
}

func (e *overlayEdit) fail(format string, parts ...any) {
	e.err = cmp.Or(e.err, fmt.Errorf("graph: %s: %w", fmt.Sprintf(format, parts...), ErrInvalid))
}

// row returns the row of v to change; of a node that is not there it is an empty one.
func (e *overlayEdit) row(v int32) *overlayRow {
	row := e.rows[v]
	if row != nil {
		return row
	}
	if row = new(overlayRow); !e.from.Has(v) {
		e.fail("there is no node %d", v)
		return row
	}
	old := e.from.at(v)
	if old != nil {
		*row = *old
	}
	neighbors, weights := e.from.Row(v)
	row.neighbors, row.weights = slices.Clone(neighbors), slices.Clone(weights)
	if weights == nil {
		row.weights = slices.Repeat([]float32{1}, len(neighbors))
	}
	if row.scale(e.base); old == nil && (row.row != e.base.RowScale[v] || row.column != e.base.ColScale[v]) {
		e.fail("node %d has scales of its own: changes need a Laplacian of NewLaplacian or NewRowLaplacian", v)
	}
	e.rows[v] = row
	return row
}

// edge gives an edge its weight; 0 removes it.
func (e *overlayEdit) edge(edge Edge, weight float32) {
	if edge.U == edge.V {
		e.fail("an edge from node %d to itself", edge.U)
	}
	u, v := e.row(edge.U), e.row(edge.V)
	e.edges += u.set(edge.V, weight)
	if !e.base.Directed {
		v.set(edge.U, weight)
	}
}

// set gives the edge to j its weight, and returns by how much the row grew.
func (r *overlayRow) set(j int32, weight float32) int64 {
	at, there := slices.BinarySearch(r.neighbors, j)
	switch {
	case there && weight == 0:
		r.neighbors, r.weights = slices.Delete(r.neighbors, at, at+1), slices.Delete(r.weights, at, at+1)
		return -1
	case there:
		r.weights[at] = weight
	case weight != 0:
		r.neighbors, r.weights = slices.Insert(r.neighbors, at, j), slices.Insert(r.weights, at, weight)
		return 1
	}
	return 0
}

func (e *overlayEdit) setFeatures(v int32, values []float32) {
	if want := e.x.Cols; len(values) != want {
		e.fail("node %d gets %d features, and the nodes have %d", v, len(values), want)
	}
	if k := slices.IndexFunc(values, func(x float32) bool { return !finite(x) }); k >= 0 {
		e.fail("feature %d of node %d is %v", k, v, values[k])
	}
	e.row(v).features = slices.Clone(values)
}

// remove removes nodes with their edges.
func (e *overlayEdit) remove(nodes []int32) {
	for _, v := range nodes {
		row := e.row(v)
		if row.removed {
			e.fail("node %d is removed twice", v)
		}
		row.removed, row.features = true, nil
		for _, u := range slices.Clone(row.neighbors) {
			e.edge(Edge{U: v, V: u}, 0)
		}
	}
	for u := int32(0); e.base.Directed && len(nodes) > 0 && u < int32(e.nodes); u++ { // who reads them
		var neighbors []int32
		if row := e.rows[u]; row != nil {
			neighbors = slices.Clone(row.neighbors)
		} else {
			neighbors, _ = e.from.Row(u)
		}
		for _, v := range neighbors {
			if row := e.rows[v]; row != nil && row.removed {
				e.edge(Edge{U: u, V: v}, 0)
			}
		}
	}
}

// version returns the version that e makes.
func (e *overlayEdit) version() *Overlay {
	next := e.Overlay
	before := append(slices.Clone(next.pages), make([]*overlayPage, (e.nodes+pageNodes-1)/pageNodes-len(next.pages))...)
	next.pages = slices.Clone(before)
	for v, row := range e.rows {
		k := int(v) / pageNodes
		if old := before[k]; next.pages[k] == old {
			next.pages[k] = new(overlayPage)
			if old != nil {
				*next.pages[k] = *old
			}
		}
		row.scale(e.base)
		next.pages[k][v%pageNodes] = row
	}
	return &next
}

// scale sets the scales of a row of p with these edges.
func (r *overlayRow) scale(p *Laplacian) {
	degree := 1.0 // the row sum of A+I, summed as selfLoopedDegree does
	for _, w := range r.weights {
		degree += float64(w)
	}
	r.row, r.column = float32(1/degree), 1
	if len(p.RowScale) == 0 || &p.RowScale[0] == &p.ColScale[0] { // of NewLaplacian
		r.row = float32(1 / math.Sqrt(degree))
		r.column = r.row
	}
}

// Around returns the Laplacian of a part of the version, for models of hops graph convolutions:
// all nodes within hops edges of the given ones. Node k of it is ids[k]; the given nodes come
// first. The nodes within hops−1 edges have their rows, with neighbours in the order of the
// whole graph, so that sums over them have the same bits. The rows of the others are empty, and
// no output at the given nodes reads them.
//
// A node that is not there is an error that wraps ErrInvalid. Cost: the rows that it copies.
func (o *Overlay) Around(nodes []int32, hops int) (local *Laplacian, ids []int32, err error) {
	place := map[int32]int32{}
	add := func(v int32) int32 {
		k, there := place[v]
		if !there {
			k = int32(len(ids))
			place[v], ids = k, append(ids, v)
		}
		return k
	}
	for _, v := range nodes {
		if !o.Has(v) {
			return nil, nil, fmt.Errorf("graph: there is no node %d: %w", v, ErrInvalid)
		}
		add(v)
	}
	a := &CSR{Ptr: []int64{0}, Val: []float32{}}
	for range hops {
		for _, v := range ids[len(a.Ptr)-1:] {
			neighbors, weights := o.Row(v)
			for k, u := range neighbors {
				a.Idx, a.Val = append(a.Idx, add(u)), append(a.Val, float32(Weight(weights, k)))
			}
			a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		}
	}
	a.Rows, a.Cols = len(ids), len(ids)
	a.Ptr = append(a.Ptr, slices.Repeat(a.Ptr[len(a.Ptr)-1:], len(ids)+1-len(a.Ptr))...)
	local = &Laplacian{Adjacency: a, Directed: o.base.Directed}
	for _, v := range ids {
		scale, column, _ := o.scales(v)
		local.RowScale, local.ColScale = append(local.RowScale, scale), append(local.ColScale, column)
	}
	return local, ids, nil
}

// scales returns the scales of row and column v of P, and whether they are the base's.
func (o *Overlay) scales(v int32) (scale, column float32, base bool) {
	if row := o.at(v); row != nil {
		return row.row, row.column, false
	}
	return o.base.RowScale[v], o.base.ColScale[v], true
}

// Propagation returns row v of P: the columns, v itself first, their entries, and the row's sum.
// base reports whether the row of P·X is that of the base: neither v nor a neighbour has
// changed. Cost: O(degree of v).
func (o *Overlay) Propagation(v int32) (columns []int32, entries []float32, sum float32, base bool) {
	neighbors, weights := o.Row(v)
	scale, own, base := o.scales(v)
	columns, entries = append(make([]int32, 0, 1+len(neighbors)), v), append(make([]float32, 0, 1+len(neighbors)), scale*own)
	total := float64(own)
	for k, u := range neighbors {
		_, column, same := o.scales(u)
		weight := float32(Weight(weights, k))
		columns, entries, base = append(columns, u), append(entries, scale*weight*column), base && same
		total += float64(column) * float64(weight)
	}
	if !base {
		o.prefetch(columns)
	}
	return columns, entries, float32(float64(scale) * total), base
}

// Gather returns the features of nodes, row after row.
func (o *Overlay) Gather(nodes []int32) *Features {
	o.prefetch(nodes)
	x := &Features{Rows: len(nodes), Cols: o.x.Cols, Data: make([]float32, 0, len(nodes)*o.x.Cols)}
	for _, v := range nodes {
		values, _ := o.Features(v)
		x.Data = append(x.Data, values...)
	}
	return x
}

// prefetch starts to read the base's features of nodes.
func (o *Overlay) prefetch(nodes []int32) {
	if o.x.Prefetch != nil {
		o.x.Prefetch(slices.DeleteFunc(slices.Clone(nodes), func(v int32) bool { return int(v) >= o.base.Nodes() }))
	}
}
