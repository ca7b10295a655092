package full

import (
	"context"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// lists finds the nodes of each level, in the memory of p. They follow from P and the call's nodes
// alone.
func (p *pass) lists(ctx context.Context) error {
	if p.stages == nil {
		p.stages = make([]stage, len(p.levels))
	}
	var s *stage
	for l, level := range p.levels {
		below := s
		s = &p.stages[l]
		s.Level, s.number, s.below, s.data = level, l, below, make([]supply, len(level.Data))
		for k, d := range level.Data {
			s.data[k].Source = p.source(d.Source)
		}
	}
	switch s.nodes = p.Nodes; {
	case p.Nodes == nil:
		s.all(p.P)
	case p.owners() != nil: // the rows of a rank are then one after the other
		s.nodes = slices.Sorted(slices.Values(p.Nodes))
	}
	for ; s.below != nil && s.Reads; s = s.below {
		if s.whole {
			s.below.all(p.P)
		} else if err := s.below.neighborhood(ctx, p.P, s.nodes); err != nil {
			return err
		}
	}
	p.total = 0
	for l := range p.stages {
		s := &p.stages[l]
		if s.sums = make([]float32, len(s.nodes)); s.Plan != nil {
			p.total += len(s.nodes)
		}
	}
	return nil
}

// Rows returns the nodes whose output each of some layers must compute for nodes (nil: all):
// nodes themselves in the last layer, ascending if several ranks hold P together, and below each
// layer its nodes with all their neighbours, ascending. Cost: the entries of the rows of P. If
// several ranks hold P together, all call it.
func Rows(ctx context.Context, p *graph.Laplacian, nodes []int32, layers int) (lists [][]int32, err error) {
	pass := &pass{
		Model: &Model{levels: slices.Repeat([]*plan.Level{{Reads: true}}, layers)},
		Call:  Call{P: p, Nodes: nodes},
	}
	err = pass.lists(ctx)
	for _, s := range pass.stages {
		lists = append(lists, s.nodes)
	}
	return lists, err
}

// all makes the rows of s all nodes of p.
func (s *stage) all(p *graph.Laplacian) {
	s.nodes, s.place, s.whole = kernel.OrAll(nil, p), nil, true
}

// neighborhood makes the rows of s the given nodes and all their neighbours, in the memory of s.
// They are a sparse set (Briggs & Torczon 1993): node v is in it if nodes[place[v]] is v. Cost: the
// entries of the nodes' rows of P, and O(nodes of P) if s has no memory.
//
// If several ranks hold P together, all call it: each follows the edges of its own nodes.
func (s *stage) neighborhood(ctx context.Context, p *graph.Laplacian, nodes []int32) error {
	n := p.Nodes()
	s.nodes, s.whole = s.nodes[:0], false
	if len(s.place) < n {
		s.place = make([]int32, n)
	}
	first, last := 0, n
	if p.Share != nil {
		first, last = p.Share.Own()
	}
	err := graph.FromLast(ctx, nodes, p.Adjacency.Prefetch, func(lo, hi int) error {
		for _, v := range nodes[lo:hi] {
			if s.add(v); int(v) < first || int(v) >= last {
				continue
			}
			for _, u := range p.Adjacency.Row(int(v)) {
				s.add(u)
			}
		}
		return nil
	})
	if err == nil && p.Share != nil {
		err = s.join(ctx, p.Share, n)
	}
	if len(s.nodes) == n {
		s.all(p)
		return err
	}
	slices.Sort(s.nodes)
	for k, v := range s.nodes {
		s.place[v] = int32(k)
	}
	return err
}

// add adds node v to the set.
func (s *stage) add(v int32) {
	if k := int(s.place[v]); k >= len(s.nodes) || s.nodes[k] != v {
		s.place[v] = int32(len(s.nodes))
		s.nodes = append(s.nodes, v)
	}
}

// rowSums returns the row sums of P at the rows lo to hi−1 of s.
func (p *pass) rowSums(s *stage, lo, hi int) []float32 {
	for k := lo; k < hi; k++ {
		if v := s.nodes[k]; p.Sums != nil {
			s.sums[k] = p.Sums[v]
		} else if s.sums[k] == 0 { // else of an earlier call
			s.sums[k] = float32(p.P.RowSum(int(v)))
		}
	}
	return s.sums[lo:hi]
}
