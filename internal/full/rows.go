package full

import (
	"context"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// rows are the nodes whose values a level computes or holds.
type rows struct {
	nodes []int32 // row k belongs to nodes[k]; ascending below the last level
	place []int32 // the row of each node in nodes, the others have no meaning; nil: row v is node v
	scale []float32
	sums  []float32 // row sums of P; 0: not known
}

// needed finds the rows of each level. They follow from P and the nodes alone.
func (p *pass) needed(ctx context.Context) error {
	if p.stages == nil {
		p.stages = make([]stage, len(p.levels))
	}
	for l, level := range p.levels {
		s := &p.stages[l]
		if s.Level, s.number = level, l; l > 0 {
			s.below = &p.stages[l-1]
		}
		s.rows = rows{nodes: s.nodes[:0], place: s.place}
		s.data = make([]supply, len(level.Data))
	}
	top := &p.stages[len(p.stages)-1]
	top.rows = rows{nodes: p.nodes}
	switch {
	case p.nodes == nil:
		top.rows = allRows(p.P)
	case p.owners() != nil: // the rows of a rank are then one after the other
		top.nodes = slices.Sorted(slices.Values(p.nodes))
	}
	for s := top; s.below != nil; s = s.below {
		switch below := &s.below.rows; {
		case !s.Reads:
			below.place = nil
		case s.place == nil && len(s.nodes) == p.P.Nodes() && (s != top || p.nodes == nil):
			*below = allRows(p.P)
		default:
			if err := below.neighborhood(ctx, p.P, s.nodes); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rows returns the nodes whose output each of some layers must compute for nodes (nil: all):
// nodes themselves in the last layer, ascending if several ranks hold P together, and below each
// layer its nodes with all their neighbours, ascending. Cost: the entries of the rows of P. If
// several ranks hold P together, all call it.
func Rows(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int) (lists [][]int32, err error) {
	levels := slices.Repeat([]*plan.Level{{Reads: true}}, layers)
	pass := &pass{
		Model: &Model{levels: levels},
		Call:  Call{P: p},
		nodes: nodes,
	}
	if err := pass.needed(ctx); err != nil {
		return nil, err
	}
	for _, s := range pass.stages {
		lists = append(lists, s.nodes)
	}
	return lists, nil
}

func allRows(p *graph.Laplacian) rows {
	all := rows{nodes: make([]int32, p.Nodes()), scale: p.ColScale}
	for v := range all.nodes {
		all.nodes[v] = int32(v)
	}
	return all
}

// neighborhood makes r the given nodes and all their neighbours, in the memory of r. It is a
// sparse set (Briggs & Torczon 1993): node v is in it if nodes[place[v]] is v. Cost: the
// entries of the nodes' rows of P, and O(nodes of P) if r has no memory or is a large part of
// the graph.
//
// If several ranks hold P together, all call it: each follows the edges of its own nodes.
func (r *rows) neighborhood(ctx context.Context, p *graph.Laplacian, nodes []int32) error {
	n := p.Nodes()
	if len(r.place) < n {
		r.place = make([]int32, n)
	}
	if p.Adjacency.Prefetch != nil && !slices.IsSorted(nodes) {
		nodes = slices.Sorted(slices.Values(nodes))
	}
	first, last := 0, n
	if p.Share != nil {
		first, last = p.Share.Own()
	}
	err := graph.EachPart(ctx, nodes, p.Adjacency.Prefetch, func(lo, hi int) error {
		for _, v := range nodes[lo:hi] {
			r.add(v)
			if int(v) < first || int(v) >= last {
				continue
			}
			for _, u := range p.Adjacency.Row(int(v)) {
				r.add(u)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if p.Share != nil {
		if err := r.join(ctx, p.Share, n); err != nil {
			return err
		}
	}
	if len(r.nodes) == n {
		*r = allRows(p)
		return nil
	}
	slices.Sort(r.nodes)
	r.scale = make([]float32, len(r.nodes))
	for k, v := range r.nodes {
		r.place[v] = int32(k)
		r.scale[k] = p.ColScale[v]
	}
	return nil
}

func (r *rows) has(v int32) bool {
	k := int(r.place[v])
	return k < len(r.nodes) && r.nodes[k] == v
}

func (r *rows) add(v int32) {
	if !r.has(v) {
		r.place[v] = int32(len(r.nodes))
		r.nodes = append(r.nodes, v)
	}
}

// rowSums returns the row sums of P at the rows lo to hi−1 of s.
func (p *pass) rowSums(s *stage, lo, hi int) []float32 {
	for k := lo; k < hi; k++ {
		switch v := s.nodes[k]; {
		case s.sums[k] != 0: // of an earlier call
		case p.Sums != nil:
			s.sums[k] = p.Sums[v]
		default:
			s.sums[k] = float32(p.P.RowSum(int(v)))
		}
	}
	return s.sums[lo:hi]
}

// fill makes r's block the rows of p at dst, over the rows below, and own the rows of dst
// themselves.
func (r *levelRun) fill(p *graph.Laplacian, dst []int32, below *rows) {
	b := &r.block
	if p.Adjacency.Prefetch != nil {
		p.Adjacency.Prefetch(dst)
	}
	b.Dst, b.Src, b.ColScale = dst, below.nodes, below.scale
	m := &b.Matrix
	kernel.Rows(m, p, dst, below.place)
	m.Cols, r.own = len(below.nodes), r.own[:0]
	for _, k := range m.Ptr[:len(dst)] {
		r.own = append(r.own, m.Idx[k]) // a row's own node comes first
	}
}
