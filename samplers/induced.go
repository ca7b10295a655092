package samplers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
)

// subgraph is the graph that a subgraph method samples from: the whole graph, or
// the subgraph induced by the training nodes.
type subgraph struct {
	laplacian *graph.Laplacian // over local numbers
	nodes     []int32          // the node of each local number, increasing; nil: the same number
}

// node returns the node of a local number.
func (g *subgraph) node(local int32) int32 {
	if g.nodes == nil {
		return local
	}
	return g.nodes[local]
}

// subgraphScratch is the memory of one draw of nodes of a subgraph.
type subgraphScratch struct {
	seeds     indexSet  // to check the seeds
	numbering numbering // of the nodes drawn
	inside    nodeSet   // the nodes drawn, while the block is filled
	entries   []int64   // of the block's entries: their places in the adjacency matrix; −1: a node's own
}

// begin checks the arguments of Sample, and begins a draw of nodes of g.
func (s *subgraphScratch) begin(ctx context.Context, p *graph.Laplacian, seeds []int32, g *subgraph) error {
	s.numbering.begin(g.laplacian, s.numbering.nodes)
	return cmp.Or(ctx.Err(), s.seeds.check(seeds, p.Nodes()))
}

// induce fills block, but for Finish, with A+I among the nodes drawn, which are its input and
// its output nodes. A node's own entry comes first in its row.
func (s *subgraphScratch) induce(g *subgraph, block *graph.Block) {
	p, drawn := g.laplacian, s.numbering.nodes
	block.Src, block.ColScale = resize(block.Src, len(drawn)), resize(block.ColScale, len(drawn))
	for k, v := range drawn {
		block.Src[k], block.ColScale[k] = g.node(v), p.ColScale[v]
	}
	s.inside.fill(p.Nodes(), drawn)
	defer s.inside.clear(drawn)
	m := startBlock(block, block.Src)
	m.Idx, m.Val, s.entries = m.Idx[:0], m.Val[:0], s.entries[:0]
	for k, v := range drawn {
		m.Idx, m.Val, s.entries = append(m.Idx, int32(k)), append(m.Val, 1), append(s.entries, -1)
		values, first := p.Adjacency.RowValues(int(v)), p.Adjacency.Ptr[v]
		for c, u := range p.Adjacency.Row(int(v)) {
			if !s.inside.has(u) {
				continue
			}
			m.Idx, m.Val = append(m.Idx, s.numbering.number(u)), append(m.Val, float32(graph.Weight(values, c)))
			s.entries = append(s.entries, first+int64(c))
		}
		m.Ptr[k+1] = int64(len(m.Idx))
	}
}

// newSubgraph returns the subgraph induced by the training nodes, with a Laplacian
// normalised like p; for nil nodes it returns the whole graph with p. The error
// names a wrong training node, or says that the normalisation of p is unknown.
// Cost: O(nodes + edges of the training nodes).
func newSubgraph(p *graph.Laplacian, train []int32) (*subgraph, error) {
	if train == nil {
		return &subgraph{laplacian: p}, nil
	}
	symmetric, err := isSymmetric(p)
	if err != nil {
		return nil, err
	}
	nodes := slices.Sorted(slices.Values(train))
	number, err := numberNodes(p, nodes)
	if err != nil {
		return nil, err
	}
	g := &subgraph{nodes: nodes}
	if induced := induce(p.Adjacency, nodes, number); symmetric {
		g.laplacian = graph.NewLaplacian(induced)
	} else {
		g.laplacian = graph.NewRowLaplacian(induced)
	}
	return g, nil
}

// numberNodes returns, for every node of p, 1 + its place in train, or 0 if it is
// not there. The error names a training node that is no node of p or is listed
// twice, or says that there are none.
func numberNodes(p *graph.Laplacian, train []int32) ([]int32, error) {
	if len(train) == 0 {
		return nil, errors.New("samplers: no training nodes")
	}
	number := make([]int32, p.Nodes())
	for k, i := range train {
		if i < 0 || int(i) >= len(number) {
			return nil, fmt.Errorf("samplers: training node %d is outside [0, %d)", i, len(number))
		}
		if number[i] != 0 {
			return nil, fmt.Errorf("samplers: training node %d is listed twice", i)
		}
		number[i] = int32(k) + 1
	}
	return number, nil
}

// induce returns the adjacency matrix of the subgraph of a induced by nodes. number
// is the result of numberNodes for nodes.
func induce(a *graph.CSR, nodes, number []int32) *graph.CSR {
	entries := int64(0)
	for _, i := range nodes {
		for _, j := range a.Row(int(i)) {
			if number[j] != 0 {
				entries++
			}
		}
	}
	b := &graph.CSR{
		Rows: len(nodes), Cols: len(nodes),
		Ptr: make([]int64, len(nodes)+1),
		Idx: make([]int32, 0, entries),
	}
	if a.Val != nil {
		b.Val = make([]float32, 0, entries)
	}
	for k, i := range nodes {
		values := a.RowValues(int(i))
		for c, j := range a.Row(int(i)) {
			if number[j] == 0 {
				continue
			}
			b.Idx = append(b.Idx, number[j]-1)
			if values != nil {
				b.Val = append(b.Val, values[c])
			}
		}
		b.Ptr[k+1] = int64(len(b.Idx))
	}
	return b
}

// isSymmetric reports whether p is D̃^-½(A+I)D̃^-½ rather than D̃^-1(A+I). The error
// says that p is neither.
func isSymmetric(p *graph.Laplacian) (bool, error) {
	if slices.Equal(p.RowScale, p.ColScale) {
		return true, nil
	}
	for i, c := range p.ColScale {
		if c != 1 {
			return false, fmt.Errorf("samplers: the Laplacian is neither symmetric nor row-stochastic (column %d has scale %v): its form on a subgraph is unknown", i, c)
		}
	}
	return false, nil
}
