package graph

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Overlay is one version of a graph that changes: a base graph with its features, which stay
// as they are, and the rows that differ from it. Apply makes the next version. A version
// never changes, so that any number of goroutines may read it while others make later ones.
//
// Nodes keep their numbers: a new node gets the next one, and a removed node leaves a gap.
// A version shares the rows that it has not changed with the version before. Memory: a
// pointer for each 64 nodes of a version that is in use, and the rows that differ.
type Overlay struct {
	base  *Laplacian
	x     *Features
	pages []*overlayPage // page k has the nodes from 64·k; nil: none differs
	nodes int
	edges int64 // without self-loops; both directions count

	scratch *sync.Pool // of *places, for all versions
}

type overlayPage [64]*overlayRow

// overlayRow replaces a row of the base.
type overlayRow struct {
	neighbors []int32   // ascending
	weights   []float32 // nil: all 1
	scale     float32   // of the Laplacian
	features  []float32 // nil: the base's
	removed   bool
}

// NewOverlay returns the version without changes. p must be of NewLaplacian,
// NewRowLaplacian or NewDirectedLaplacian, with rows whose columns ascend, and whole: ranks
// cannot share it. x has a row for each node. p and x must not change afterwards. Cost:
// O(nodes/64).
func NewOverlay(p *Laplacian, x *Features) (*Overlay, error) {
	switch {
	case p == nil || p.Adjacency == nil || x == nil:
		return nil, fmt.Errorf("graph: changes need a Laplacian and features: %w", ErrInvalid)
	case p.Share != nil || x.Share != nil:
		return nil, fmt.Errorf("graph: several ranks hold the graph together, so it cannot change: %w", ErrInvalid)
	case x.Rows != p.Nodes() || !x.Sized():
		return nil, fmt.Errorf("graph: features of %d nodes for a graph of %d: %w", x.Rows, p.Nodes(), ErrInvalid)
	}
	return &Overlay{base: p, x: x, pages: make([]*overlayPage, (p.Nodes()+63)/64), nodes: p.Nodes(), edges: p.Adjacency.NNZ(), scratch: new(sync.Pool)}, nil
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

// Nodes returns the number of nodes, with the removed ones.
func (o *Overlay) Nodes() int { return o.nodes }

// BaseNodes returns the number of nodes of the base.
func (o *Overlay) BaseNodes() int { return o.base.Nodes() }

// Edges returns the number of edges; undirected ones count once.
func (o *Overlay) Edges() int64 {
	if o.base.Directed {
		return o.edges
	}
	return o.edges / 2
}

// Has reports whether v is a node that was not removed.
func (o *Overlay) Has(v int32) bool {
	if v < 0 || int(v) >= o.nodes {
		return false
	}
	row := o.changed(v)
	return row == nil || !row.removed
}

// changed returns the row of v that replaces the base's, or nil.
func (o *Overlay) changed(v int32) *overlayRow {
	if page := o.pages[v/64]; page != nil {
		return page[v%64]
	}
	return nil
}

// Row returns the neighbours of node v in ascending order, and the weights of the edges, nil
// if all are 1. Both must not be changed.
func (o *Overlay) Row(v int32) (neighbors []int32, weights []float32) {
	if row := o.changed(v); row != nil {
		return row.neighbors, row.weights
	}
	return o.base.Adjacency.Row(int(v)), o.base.Adjacency.RowValues(int(v))
}

// Features returns the features of node v. They must not be changed.
func (o *Overlay) Features(v int32) []float32 {
	if row := o.changed(v); row != nil && row.features != nil {
		return row.features
	}
	return o.x.Row(int(v))
}

// Apply returns the version after c. On an error nothing is changed. The error wraps
// ErrInvalid and names the node or the edge: a node that is not there, an edge from a node to
// itself, a wrong weight, features of another number or that are not finite. c may be used
// again. Calls may run concurrently. Cost: the rows that change, and O(nodes/64); to remove a
// node of a directed graph, O(edges).
func (o *Overlay) Apply(c *Change) (*Overlay, error) {
	if c.Weights != nil && len(c.Weights) != len(c.AddEdges) {
		return nil, fmt.Errorf("graph: %d weights of %d new edges: %w", len(c.Weights), len(c.AddEdges), ErrInvalid)
	}
	if len(c.AddNodes) > math.MaxInt32-o.nodes {
		return nil, fmt.Errorf("graph: %d nodes and %d new ones, more than %d: %w", o.nodes, len(c.AddNodes), math.MaxInt32, ErrInvalid)
	}
	next := *o
	next.pages = slices.Clone(o.pages)
	e := overlayEdit{&next, map[*overlayPage]bool{}, map[int32]*overlayRow{}}
	for _, values := range c.AddNodes {
		v := int32(next.nodes)
		if next.nodes++; int(v)/64 == len(next.pages) {
			next.pages = append(next.pages, nil)
		}
		e.put(v, new(overlayRow))
		if err := e.setFeatures(v, values); err != nil {
			return nil, err
		}
	}
	for _, edge := range c.RemoveEdges {
		if err := e.edge(edge, 0); err != nil {
			return nil, err
		}
	}
	for k, edge := range c.AddEdges {
		weight := float32(Weight(c.Weights, k))
		if !(weight > 0) || !finite(weight) {
			return nil, fmt.Errorf("graph: the edge between nodes %d and %d has weight %v, want positive and finite: %w", edge.U, edge.V, weight, ErrInvalid)
		}
		if err := e.edge(edge, weight); err != nil {
			return nil, err
		}
	}
	for _, f := range c.SetFeatures {
		if err := e.setFeatures(f.Node, f.Values); err != nil {
			return nil, err
		}
	}
	for _, v := range c.RemoveNodes {
		if err := e.remove(v); err != nil {
			return nil, err
		}
	}
	for _, row := range e.rows {
		row.scale = o.base.scaleOf(row.degree())
	}
	return &next, nil
}

// overlayEdit makes a version.
type overlayEdit struct {
	*Overlay
	own  map[*overlayPage]bool // pages that no other version has
	rows map[int32]*overlayRow // rows that no other version has
}

// put replaces the row of v.
func (e *overlayEdit) put(v int32, row *overlayRow) {
	page := e.pages[v/64]
	if !e.own[page] {
		copied := new(overlayPage)
		if page != nil {
			*copied = *page
		}
		page = copied
		e.pages[v/64], e.own[page] = page, true
	}
	page[v%64], e.rows[v] = row, row
}

// row returns the row of v to change.
func (e *overlayEdit) row(v int32) (*overlayRow, error) {
	if row := e.rows[v]; row != nil && !row.removed {
		return row, nil
	}
	if !e.Has(v) {
		return nil, fmt.Errorf("graph: there is no node %d: %w", v, ErrInvalid)
	}
	row := new(overlayRow)
	if old := e.changed(v); old != nil {
		*row = *old
	} else if want := e.base.scaleOf(selfLoopedDegree(e.base.Adjacency, int(v))); e.base.RowScale[v] != want || !e.base.symmetric() && e.base.ColScale[v] != 1 {
		return nil, fmt.Errorf("graph: node %d has scales of its own: changes need a Laplacian of NewLaplacian or NewRowLaplacian: %w", v, ErrInvalid)
	}
	neighbors, weights := e.Row(v)
	row.neighbors = append(make([]int32, 0, len(neighbors)+1), neighbors...)
	if weights != nil {
		row.weights = append(make([]float32, 0, len(weights)+1), weights...)
	}
	e.put(v, row)
	return row, nil
}

// edge gives an edge its weight; 0 removes it.
func (e *overlayEdit) edge(edge Edge, weight float32) error {
	if edge.U == edge.V {
		return fmt.Errorf("graph: an edge from node %d to itself: %w", edge.U, ErrInvalid)
	}
	u, err := e.row(edge.U)
	if err != nil {
		return err
	}
	v, err := e.row(edge.V)
	if err != nil {
		return err
	}
	e.edges += u.set(edge.V, weight)
	if !e.base.Directed {
		e.edges += v.set(edge.U, weight)
	}
	return nil
}

// set gives the edge to j its weight, and returns by how much the row grew.
func (r *overlayRow) set(j int32, weight float32) int64 {
	at, there := slices.BinarySearch(r.neighbors, j)
	switch {
	case weight == 0 && there:
		r.neighbors = slices.Delete(r.neighbors, at, at+1)
		if r.weights != nil {
			r.weights = slices.Delete(r.weights, at, at+1)
		}
		return -1
	case weight == 0:
		return 0
	}
	if weight != 1 && r.weights == nil {
		r.weights = slices.Repeat([]float32{1}, len(r.neighbors))
	}
	if there {
		if r.weights != nil {
			r.weights[at] = weight
		}
		return 0
	}
	r.neighbors = slices.Insert(r.neighbors, at, j)
	if r.weights != nil {
		r.weights = slices.Insert(r.weights, at, weight)
	}
	return 1
}

// degree returns the row sum of A+I, summed as selfLoopedDegree does.
func (r *overlayRow) degree() float64 {
	if r.weights == nil {
		return float64(len(r.neighbors)) + 1
	}
	sum := 1.0
	for _, w := range r.weights {
		sum += float64(w)
	}
	return sum
}

func (e *overlayEdit) setFeatures(v int32, values []float32) error {
	if len(values) != e.x.Cols {
		return fmt.Errorf("graph: node %d gets %d features, and the nodes have %d: %w", v, len(values), e.x.Cols, ErrInvalid)
	}
	for k, value := range values {
		if !finite(value) {
			return fmt.Errorf("graph: feature %d of node %d is %v: %w", k, v, value, ErrInvalid)
		}
	}
	row, err := e.row(v)
	if err == nil {
		row.features = slices.Clone(values)
	}
	return err
}

// remove removes a node with its edges.
func (e *overlayEdit) remove(v int32) error {
	row, err := e.row(v)
	if err != nil {
		return err
	}
	readers := slices.Clone(row.neighbors)
	if e.base.Directed {
		readers = nil
		for u := range int32(e.nodes) {
			neighbors, _ := e.Row(u)
			if _, reads := slices.BinarySearch(neighbors, v); reads {
				readers = append(readers, u)
			}
		}
	}
	for _, u := range readers {
		reader, err := e.row(u)
		if err != nil {
			return err
		}
		e.edges += reader.set(v, 0)
	}
	e.edges -= int64(len(row.neighbors))
	row.neighbors, row.weights, row.features, row.removed = nil, nil, nil, true
	return nil
}

// symmetric tells a P of NewLaplacian, whose scales are one slice, from the others that an
// Overlay takes.
func (p *Laplacian) symmetric() bool {
	return len(p.RowScale) == 0 || &p.RowScale[0] == &p.ColScale[0]
}

// scaleOf returns the row scale of a node with a row sum of A+I.
func (p *Laplacian) scaleOf(degree float64) float32 {
	if p.symmetric() {
		return float32(1 / math.Sqrt(degree))
	}
	return float32(1 / degree)
}

// Around returns the Laplacian of the part of the version that the outputs of nodes depend on
// in a model of hops graph convolutions: all nodes within hops edges. Node k of it is ids[k]. The
// first inside nodes, within hops−1 edges, have their rows, with neighbours in the order of the
// whole graph, so that sums over them have the same bits. No output reads the rows of the others,
// which are empty.
//
// A node that is not there and less than one hop are errors that wrap ErrInvalid. Cost: the
// rows that it copies, and O(nodes/64).
func (o *Overlay) Around(nodes []int32, hops int) (local *Laplacian, ids []int32, inside int, err error) {
	if hops < 1 {
		return nil, nil, 0, fmt.Errorf("graph: a neighbourhood of %d edges: %w", hops, ErrInvalid)
	}
	place := o.places()
	defer o.back(place)
	for _, v := range nodes {
		if !o.Has(v) {
			return nil, nil, 0, fmt.Errorf("graph: there is no node %d: %w", v, ErrInvalid)
		}
		place.add(v)
	}
	a, weighted := &CSR{Ptr: []int64{0}}, o.base.Adjacency.Val != nil
	for range hops {
		from := inside
		inside = len(place.nodes)
		for _, v := range place.nodes[from:inside] {
			neighbors, weights := o.Row(v)
			if weights != nil && !weighted { // all before are 1
				weighted, a.Val = true, slices.Repeat([]float32{1}, len(a.Idx))
			}
			for k, u := range neighbors {
				a.Idx = append(a.Idx, place.add(u))
				if weighted {
					a.Val = append(a.Val, float32(Weight(weights, k)))
				}
			}
			a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		}
	}
	ids = place.nodes
	for range ids[inside:] {
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	a.Rows, a.Cols = len(ids), len(ids)
	scales := make([]float32, len(ids))
	for k, v := range ids {
		scales[k] = o.scale(v)
	}
	local = &Laplacian{Adjacency: a, RowScale: scales, ColScale: scales, Directed: o.base.Directed}
	if !o.base.symmetric() {
		local.ColScale = slices.Repeat([]float32{1}, len(ids))
	}
	return local, ids, inside, nil
}

// Gather returns the features of nodes, row after row.
func (o *Overlay) Gather(nodes []int32) *Features {
	if o.x.Prefetch != nil {
		o.x.Prefetch(slices.DeleteFunc(slices.Clone(nodes), func(v int32) bool { return int(v) >= o.base.Nodes() }))
	}
	x := &Features{Rows: len(nodes), Cols: o.x.Cols, Data: make([]float32, 0, len(nodes)*o.x.Cols)}
	for _, v := range nodes {
		x.Data = append(x.Data, o.Features(v)...)
	}
	return x
}

// Touched reports whether row v of P·X may differ from the base's: node v or a neighbour has
// changed. Cost: O(degree of v).
func (o *Overlay) Touched(v int32) bool {
	neighbors, _ := o.Row(v)
	return o.changed(v) != nil || slices.ContainsFunc(neighbors, func(u int32) bool { return o.changed(u) != nil })
}

// Base returns the Laplacian and the features that o changes.
func (o *Overlay) Base() (*Laplacian, *Features) { return o.base, o.x }

func (o *Overlay) scale(v int32) float32 {
	if row := o.changed(v); row != nil {
		return row.scale
	}
	return o.base.RowScale[v]
}

// places numbers nodes in the order of their adding.
type places struct {
	of    []int32 // the number of a node plus 1; 0: it has none
	nodes []int32
}

// places returns empty places. The caller gives them back.
func (o *Overlay) places() *places {
	p, _ := o.scratch.Get().(*places)
	if p == nil || len(p.of) < o.nodes {
		p = &places{of: make([]int32, o.nodes+o.nodes/8)}
	}
	return p
}

// add returns the number of v.
func (p *places) add(v int32) int32 {
	if p.of[v] == 0 {
		p.nodes = append(p.nodes, v)
		p.of[v] = int32(len(p.nodes))
	}
	return p.of[v] - 1
}

// back empties the places, and gives them back.
func (o *Overlay) back(p *places) {
	for _, v := range p.nodes {
		p.of[v] = 0
	}
	p.nodes = nil
	o.scratch.Put(p)
}
