package graph

import (
	"fmt"
	"math"
	"slices"
)

// WithNode returns the part of P around a node that the graph does not hold, as if the node
// were added with an edge to each of its neighbours: the degrees of the neighbours grow by
// the edge's weight. weights are the edges' weights; nil means 1. In a directed graph the
// neighbours are the row of the new node, and their own rows stay as they are.
//
// Node 0 of the result is the new node. Node k > 0 is nodes[k-1] of the graph. The result
// has all nodes within hops edges of the new one, and the rows of those within hops−1; the
// rows of the others have no neighbours. So the first hops−1 powers of P, and one more
// product with features, are exact at row 0.
//
// P must be of NewLaplacian, NewRowLaplacian or NewDirectedLaplacian. A neighbour that is
// outside the graph or listed twice, a weight that is not positive and finite, and a P of
// another kind are errors. Cost: the entries of the rows that it copies.
func (p *Laplacian) WithNode(neighbors []int32, weights []float32, hops int) (local *Laplacian, nodes []int32, err error) {
	place, err := p.checkNewNode(neighbors, weights, hops)
	if err != nil {
		return nil, nil, err
	}
	nodes = slices.Clone(neighbors)
	a := &CSR{Ptr: []int64{0}}
	weighted := p.Adjacency.Val != nil || weights != nil
	add := func(j int32, weight float32) {
		a.Idx = append(a.Idx, j)
		if weighted {
			a.Val = append(a.Val, weight)
		}
	}
	if weights == nil {
		weights = slices.Repeat([]float32{1}, len(neighbors))
	}
	for k, weight := range weights {
		add(int32(k+1), weight)
	}
	a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	inside, from := 0, 0 // nodes[:inside] have rows; nodes[from:] are the last hop's
	for hop := 1; hop < hops; hop++ {
		inside = len(nodes)
		for k := from; k < inside; k++ {
			if k < len(neighbors) && !p.Directed {
				add(0, weights[k])
			}
			values := p.Adjacency.RowValues(int(nodes[k]))
			for e, u := range p.Adjacency.Row(int(nodes[k])) {
				at, seen := place[u]
				if !seen {
					nodes = append(nodes, u)
					at = int32(len(nodes))
					place[u] = at
				}
				add(at, float32(Weight(values, e)))
			}
			a.Ptr = append(a.Ptr, int64(len(a.Idx)))
		}
		from = inside
	}
	for range nodes[inside:] {
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	a.Rows, a.Cols = len(nodes)+1, len(nodes)+1
	return p.scaled(a, nodes, neighbors, weights), nodes, nil
}

// checkNewNode checks the arguments of WithNode, and returns the place of each neighbour in
// the local graph.
func (p *Laplacian) checkNewNode(neighbors []int32, weights []float32, hops int) (map[int32]int32, error) {
	if p == nil || p.Adjacency == nil || hops < 1 {
		return nil, fmt.Errorf("graph: a new node needs a Laplacian and at least one hop: %w", ErrInvalid)
	}
	if weights != nil && len(weights) != len(neighbors) {
		return nil, fmt.Errorf("graph: new node with %d neighbours and %d weights: %w", len(neighbors), len(weights), ErrInvalid)
	}
	place := make(map[int32]int32, len(neighbors))
	for k, v := range neighbors {
		if v < 0 || int(v) >= p.Nodes() {
			return nil, fmt.Errorf("graph: neighbour %d of the new node is %d, outside [0, %d): %w", k, v, p.Nodes(), ErrInvalid)
		}
		if _, twice := place[v]; twice {
			return nil, fmt.Errorf("graph: neighbour %d of the new node is listed twice: %w", v, ErrInvalid)
		}
		place[v] = int32(k + 1)
		if weights != nil && (!(weights[k] > 0) || !finite(weights[k])) {
			return nil, fmt.Errorf("graph: the edge of the new node to node %d has weight %v, want positive and finite: %w", v, weights[k], ErrInvalid)
		}
		d := selfLoopedDegree(p.Adjacency, int(v))
		want := float32(1 / math.Sqrt(d))
		if !p.symmetric() {
			want = float32(1 / d)
		}
		if p.RowScale[v] != want || !p.symmetric() && p.ColScale[v] != 1 {
			return nil, fmt.Errorf("graph: node %d has scales of its own: a new node needs a P of NewLaplacian or NewRowLaplacian: %w", v, ErrInvalid)
		}
	}
	return place, nil
}

// symmetric tells a P of NewLaplacian, whose scales are one slice, from the others that
// WithNode takes.
func (p *Laplacian) symmetric() bool {
	return len(p.RowScale) == 0 || &p.RowScale[0] == &p.ColScale[0]
}

// scaled returns the Laplacian of WithNode over its adjacency matrix.
func (p *Laplacian) scaled(a *CSR, nodes, neighbors []int32, weights []float32) *Laplacian {
	scale := func(degree float64) float32 { return float32(1 / degree) }
	if p.symmetric() {
		scale = func(degree float64) float32 { return float32(1 / math.Sqrt(degree)) }
	}
	rows := make([]float32, len(nodes)+1)
	rows[0] = scale(selfLoopedDegree(a, 0))
	for k, v := range nodes {
		if k < len(neighbors) && !p.Directed {
			rows[k+1] = scale(selfLoopedDegree(p.Adjacency, int(v)) + float64(weights[k]))
		} else {
			rows[k+1] = p.RowScale[v]
		}
	}
	local := &Laplacian{Adjacency: a, RowScale: rows, ColScale: rows, Directed: p.Directed}
	if !p.symmetric() {
		local.ColScale = slices.Repeat([]float32{1}, len(rows))
	}
	return local
}
