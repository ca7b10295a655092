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

	shared []*overlayPage        // pages that a draft must not change
	edited map[int32]*overlayRow // rows that a draft has changed; nil: o is no draft
	err    error                 // the first one of a draft
}

const pageNodes = 128

// overlayPage holds nodes. Each array lies by itself: a row of P·X reads two numbers of each
// neighbour, and most are then in a cache.
type overlayPage struct {
	columns, scales [pageNodes]float32     // of the Laplacian's column and row
	own             [pageNodes]bool        // whether rows has features
	rows            [pageNodes]*overlayRow // nil: the base's
}

// overlayRow replaces a row of the base.
type overlayRow struct {
	neighbors []int32   // ascending
	weights   []float32 // one for each neighbour
	features  []float32 // nil: the base's
	removed   bool
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
	if v < 0 || int(v) >= o.nodes {
		return false
	}
	row := o.changed(v)
	return row == nil || !row.removed
}

// at returns the scales of a node's row and column of P, and whether it has a row with features in
// place of the base's.
func (o *Overlay) at(v int32) (scale, column float32, own bool) {
	if page, k := o.pages[uint32(v)/pageNodes], uint32(v)%pageNodes; page != nil {
		return page.scales[k], page.columns[k], page.own[k]
	}
	return o.base.RowScale[v], o.base.ColScale[v], false
}

// changed returns the row that replaces the base's row of a node, or nil.
func (o *Overlay) changed(v int32) *overlayRow {
	page := o.pages[uint32(v)/pageNodes]
	if page == nil {
		return nil
	}
	return page.rows[uint32(v)%pageNodes]
}

// Row returns the neighbours of node v in ascending order, and the weights of the edges, nil
// if all are 1. Both must not be changed.
func (o *Overlay) Row(v int32) (neighbors []int32, weights []float32) {
	if row := o.changed(v); row != nil {
		return row.neighbors, row.weights
	}
	return o.base.Adjacency.Row(int(v)), o.base.Adjacency.RowValues(int(v))
}

// Features returns the features of node v, which must not be changed.
func (o *Overlay) Features(v int32) []float32 {
	if row := o.changed(v); row != nil && row.features != nil {
		return row.features
	}
	return o.x.Row(int(v))
}

// Apply returns the version after c. On an error nothing is changed. The error wraps
// ErrInvalid and names the node or the edge: a node that is not there, an edge from a node to
// itself, a wrong weight, features of another number or that are not finite. c may be used
// again. Calls may run concurrently. Cost: the rows that change, and O(nodes/128); if nodes of a
// directed graph are removed, O(edges).
func (o *Overlay) Apply(c *Change) (*Overlay, error) {
	next := o.Draft()
	if next.Change(c) != nil {
		return nil, next.err
	}
	return next, next.Finish()
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

// Draft returns a copy of o for many changes: Change makes them, and Finish ends them. Until Finish
// only one goroutine may use the draft, and it must not call Propagation or Around. Cost:
// O(nodes/128).
func (o *Overlay) Draft() *Overlay {
	draft := *o
	draft.shared, draft.pages, draft.edited = o.pages, slices.Clone(o.pages), map[int32]*overlayRow{}
	return &draft
}

// Change applies c to a draft. It returns the errors of Apply. After an error the draft must not be
// used again.
func (o *Overlay) Change(c *Change) error {
	if o.edited == nil {
		return fmt.Errorf("graph: Change of a version that is no draft: Draft makes one: %w", ErrInvalid)
	}
	if c.Weights != nil && len(c.Weights) != len(c.AddEdges) {
		return o.fail("%d weights of %d new edges", len(c.Weights), len(c.AddEdges))
	}
	for _, values := range c.AddNodes {
		o.put(int32(o.nodes), new(overlayRow))
		o.nodes++
		o.setFeatures(int32(o.nodes-1), values)
	}
	for _, edge := range c.RemoveEdges {
		o.setEdge(edge, 0)
	}
	for k, edge := range c.AddEdges {
		weight := float32(Weight(c.Weights, k))
		if !(weight > 0) || !finite(weight) {
			o.fail("the edge between nodes %d and %d has weight %v, want positive and finite", edge.U, edge.V, weight)
		}
		o.setEdge(edge, weight)
	}
	for _, f := range c.SetFeatures {
		o.setFeatures(f.Node, f.Values)
	}
	o.remove(c.RemoveNodes)
	return o.err
}

// fail returns the first error of a draft.
func (o *Overlay) fail(format string, parts ...any) error {
	o.err = cmp.Or(o.err, fmt.Errorf("graph: %s: %w", fmt.Sprintf(format, parts...), ErrInvalid))
	return o.err
}

// put stores row as the row of node v. It first copies the node's page if another version has it too.
func (o *Overlay) put(v int32, row *overlayRow) {
	k := int(v) / pageNodes
	if k == len(o.pages) {
		o.pages = append(o.pages, nil)
	}
	if old := o.pages[k]; old == nil || k < len(o.shared) && old == o.shared[k] {
		page := new(overlayPage)
		if old != nil {
			*page = *old
		} else if lo := k * pageNodes; lo < o.base.Nodes() {
			copy(page.columns[:], o.base.ColScale[lo:])
			copy(page.scales[:], o.base.RowScale[lo:])
		}
		o.pages[k] = page
	}
	o.pages[k].rows[v%pageNodes], o.edited[v] = row, row
}

// row returns the row of v to change; of a node that is not there it is an empty one.
func (o *Overlay) row(v int32) *overlayRow {
	if row := o.edited[v]; row != nil && !row.removed {
		return row
	}
	if !o.Has(v) {
		o.fail("there is no node %d", v)
		return new(overlayRow)
	}
	neighbors, weights := o.Row(v)
	row := &overlayRow{neighbors: slices.Clone(neighbors), weights: slices.Clone(weights)}
	if weights == nil {
		row.weights = slices.Repeat([]float32{1}, len(neighbors))
	}
	scale, column, _ := o.at(v)
	if old := o.changed(v); old != nil {
		row.features = old.features
	} else if r, c := o.scales(row); r != scale || c != column {
		o.fail("node %d has scales of its own: changes need a Laplacian of NewLaplacian or NewRowLaplacian", v)
	}
	o.put(v, row)
	return row
}

// setEdge gives an edge its weight; 0 removes it.
func (o *Overlay) setEdge(edge Edge, weight float32) {
	if edge.U == edge.V {
		o.fail("an edge from node %d to itself", edge.U)
	}
	u, v := o.row(edge.U), o.row(edge.V)
	o.edges += u.set(edge.V, weight)
	if !o.base.Directed {
		v.set(edge.U, weight)
	}
}

// set gives the edge to j its weight, and returns by how much the row grew.
func (r *overlayRow) set(j int32, weight float32) (grown int64) {
	at, there := slices.BinarySearch(r.neighbors, j)
	if there {
		r.neighbors, r.weights = slices.Delete(r.neighbors, at, at+1), slices.Delete(r.weights, at, at+1)
		grown--
	}
	if weight != 0 {
		r.neighbors, r.weights = slices.Insert(r.neighbors, at, j), slices.Insert(r.weights, at, weight)
		grown++
	}
	return grown
}

func (o *Overlay) setFeatures(v int32, values []float32) {
	if want := o.x.Cols; len(values) != want {
		o.fail("node %d gets %d features, and the nodes have %d", v, len(values), want)
	}
	if k := slices.IndexFunc(values, func(x float32) bool { return !finite(x) }); k >= 0 {
		o.fail("feature %d of node %d is %v", k, v, values[k])
	}
	o.row(v).features = slices.Clone(values)
}

// remove removes nodes with their edges.
func (o *Overlay) remove(nodes []int32) {
	nodes = slices.Sorted(slices.Values(nodes))
	for _, v := range nodes {
		for _, u := range slices.Backward(o.row(v).neighbors) { // setEdge removes the last one each time
			o.setEdge(Edge{v, u}, 0)
		}
	}
	for u := int32(0); o.base.Directed && len(nodes) > 0 && int(u) < o.nodes; u++ { // who reads them
		neighbors, _ := o.Row(u)
		for _, v := range slices.Backward(neighbors) {
			if _, removed := slices.BinarySearch(nodes, v); removed {
				o.setEdge(Edge{u, v}, 0)
			}
		}
	}
	for _, v := range nodes { // one that is there twice is an error
		row := o.row(v)
		row.removed, row.features = true, nil
	}
}

// Finish makes a draft a version, or returns the error of Change. Cost: the rows that it has changed.
func (o *Overlay) Finish() error {
	for v, row := range o.edited {
		page, k := o.pages[v/pageNodes], v%pageNodes
		page.scales[k], page.columns[k] = o.scales(row)
		page.own[k] = row.features != nil
	}
	o.shared, o.edited = nil, nil
	return o.err
}

// scales returns the scales of the row and the column of P of a node with this row.
func (o *Overlay) scales(row *overlayRow) (scale, column float32) {
	degree, p := 1.0, o.base // the row sum of A+I, summed as newLaplacian does
	for _, w := range row.weights {
		degree += float64(w)
	}
	if len(p.RowScale) == 0 || &p.RowScale[0] == &p.ColScale[0] { // of NewLaplacian
		scale = float32(1 / math.Sqrt(degree))
		return scale, scale
	}
	return float32(1 / degree), 1
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
		scale, column, _ := o.at(v)
		local.RowScale, local.ColScale = append(local.RowScale, scale), append(local.ColScale, column)
	}
	return local, ids, nil
}

// PropagationRow is a row of P of a version.
type PropagationRow struct {
	Columns []int32   // the row's node first
	Entries []float32 // one for each column
	Sum     float64   // of the entries
	Own     []int     // ascending places in Columns of nodes whose features are not in the Data of the base's
}

// Same reports whether neither node v nor a neighbour has changed, so that P·X has the base's row.
// Cost: O(degree of v).
func (o *Overlay) Same(v int32) bool {
	changed := func(u int32) bool { return o.changed(u) != nil }
	return !changed(v) && !slices.ContainsFunc(o.base.Adjacency.Row(int(v)), changed)
}

// Propagation returns row v of P. Cost: O(degree of v).
func (o *Overlay) Propagation(v int32) PropagationRow {
	neighbors, weights := o.Row(v)
	scale, _, _ := o.at(v)
	r := PropagationRow{Columns: append([]int32{v}, neighbors...), Entries: make([]float32, 1+len(neighbors))}
	for k, u := range r.Columns {
		weight := float32(1)
		if k > 0 {
			weight = float32(Weight(weights, k-1))
		}
		_, column, own := o.at(u)
		r.Entries[k] = scale * weight * column
		r.Sum += float64(column) * float64(weight)
		if own || o.x.Data == nil {
			r.Own = append(r.Own, k)
		}
	}
	o.prefetch(r.Columns)
	r.Sum *= float64(scale)
	return r
}

// Gather returns the features of nodes, row after row.
func (o *Overlay) Gather(nodes []int32) *Features {
	o.prefetch(nodes)
	x := &Features{Rows: len(nodes), Cols: o.x.Cols, Data: make([]float32, 0, len(nodes)*o.x.Cols)}
	for _, v := range nodes {
		x.Data = append(x.Data, o.Features(v)...)
	}
	return x
}

// prefetch starts to read the base's features of nodes.
func (o *Overlay) prefetch(nodes []int32) {
	if o.x.Prefetch != nil {
		o.x.Prefetch(slices.DeleteFunc(slices.Clone(nodes), func(v int32) bool { return int(v) >= o.base.Nodes() }))
	}
}
