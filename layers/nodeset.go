package layers

import (
	"context"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// nodeSet is a set of nodes with constant time to empty it (Briggs & Torczon 1993, "An
// efficient representation for sparse sets"): node v is in it if nodes[place[v]] is v. The
// other values of place have no meaning.
type nodeSet struct {
	place []int32 // for each node of the graph
	nodes []int32
}

// reset empties the set, for a graph of n nodes. It allocates if the last graph was smaller.
func (s *nodeSet) reset(n int) {
	if len(s.place) < n {
		s.place = make([]int32, n)
	}
	s.nodes = s.nodes[:0]
}

func (s *nodeSet) has(v int32) bool {
	i := int(s.place[v])
	return i < len(s.nodes) && s.nodes[i] == v
}

func (s *nodeSet) add(v int32) {
	if !s.has(v) {
		s.place[v] = int32(len(s.nodes))
		s.nodes = append(s.nodes, v)
	}
}

// sorted appends the nodes of the set to rows, in ascending order, for a graph of n nodes.
func (s *nodeSet) sorted(rows []int32, n int) []int32 {
	if len(s.nodes) <= n/32 {
		rows = append(rows, s.nodes...)
		slices.Sort(rows)
		return rows
	}
	rows = slices.Grow(rows, len(s.nodes))
	for v := range int32(n) {
		if s.has(v) {
			rows = append(rows, v)
		}
	}
	return rows
}

// neededRows returns the nodes whose output each layer must compute: nodes (nil: all) in the
// last layer, and below each layer its nodes with all their neighbours, in ascending order.
// It uses the memory of rows below the last layer if that has as many layers. Cost: the
// entries of the rows of P.
//
// If several ranks hold P together, all call it: each follows the edges of its own nodes.
func (s *nodeSet) neededRows(ctx context.Context, rows [][]int32, p *graph.Laplacian, nodes []int32, layers int) ([][]int32, error) {
	if len(rows) != layers {
		rows = make([][]int32, layers)
	}
	n := p.Nodes()
	if nodes == nil {
		nodes = make([]int32, n)
		for i := range nodes {
			nodes[i] = int32(i)
		}
	}
	rows[layers-1] = nodes
	for l := layers - 2; l >= 0; l-- {
		above := rows[l+1]
		if len(above) == n && l+1 < layers-1 {
			rows[l] = append(rows[l][:0], above...)
			continue
		}
		s.reset(n)
		first, last := 0, n
		if p.Share != nil {
			first, last = p.Share.Own()
		}
		if p.Adjacency.Prefetch != nil && !slices.IsSorted(above) {
			above = slices.Sorted(slices.Values(above))
		}
		err := graph.EachPart(ctx, above, p.Adjacency.Prefetch, func(lo, hi int) error {
			for _, v := range above[lo:hi] {
				s.add(v)
				if int(v) < first || int(v) >= last {
					continue
				}
				for _, u := range p.Adjacency.Row(int(v)) {
					s.add(u)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if p.Share != nil {
			if err := s.gather(ctx, p.Share, n); err != nil {
				return nil, err
			}
		}
		rows[l] = s.sorted(rows[l][:0], n)
	}
	return rows, nil
}
