package samplers

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// subgraph is the part that the subgraph methods have in common: a batch is a set of nodes
// with the edges among them.
type subgraph struct {
	laplacian *graph.Laplacian // of the graph that nodes are drawn from, over local numbers
	nodes     []int32          // the node of each local number, increasing; nil: the same number
	all       int              // number of nodes of the whole graph
	symmetric bool             // the Laplacian is D̃^-½(A+I)D̃^-½ and not D̃^-1(A+I)
	workspace[subgraphScratch]
}

// subgraphScratch is the memory of one call.
type subgraphScratch struct {
	seeds     nodeTable // to check the seeds
	numbering numbering // of the nodes drawn
	inside    nodeSet   // the nodes drawn, while the block is filled
	entries   []int64   // of the block's entries: their places in the adjacency matrix; −1: a node's own
	present   []float64 // of SAINT: P(v ∈ S) of each node drawn
	parts     drawn     // of Cluster: the parts drawn
	scales    []float32 // of Cluster: of each row
	training  []int32   // of Cluster: rows that belong to training nodes
}

// OwnOutputs implements OwnOutputs.
func (g *subgraph) OwnOutputs() {}

// useAll checks the settings of a sampler, whose estimates need A to be symmetric. Nodes are
// drawn from the whole graph.
func (g *subgraph) useAll(sampler string, p *graph.Laplacian, depth int, train []int32) error {
	if err := checkDeep(sampler, p, depth); err != nil {
		return err
	}
	if p.Directed {
		return fmt.Errorf("samplers: %s needs an undirected graph; methods that take nodes or neighbours layer by layer, such as ladies and neighbor, also take a directed one", sampler)
	}
	g.laplacian, g.all = p, p.Nodes()
	if train == nil {
		return nil
	}
	return new(nodeTable).check("training node", train, g.all)
}

// useTraining is useAll for the subgraph induced by the training nodes, with a Laplacian
// normalised like p; nil means the whole graph with p. Cost: O(nodes + edges of the training
// nodes).
func (g *subgraph) useTraining(sampler string, p *graph.Laplacian, depth int, train []int32) error {
	if err := g.useAll(sampler, p, depth, train); err != nil || train == nil {
		return err
	}
	if err := g.takeForm(); err != nil {
		return err
	}
	g.nodes = slices.Sorted(slices.Values(train))
	normalised := graph.NewRowLaplacian
	if g.symmetric {
		normalised = graph.NewLaplacian
	}
	g.laplacian = normalised(induce(p.Adjacency, g.nodes))
	return nil
}

// induce returns the adjacency matrix of the subgraph of a, which is symmetric, induced by
// nodes: its rows, and of their transpose the rows again.
func induce(a *graph.CSR, nodes []int32) *graph.CSR {
	var rows, induced graph.CSR
	kernel.SelectRows(&rows, a, nodes)
	kernel.SelectRows(&induced, rows.Transpose(), nodes)
	return &induced
}

// takeForm sets symmetric. The error says that the Laplacian has neither form.
func (g *subgraph) takeForm() error {
	rows, columns := g.laplacian.RowScale, g.laplacian.ColScale
	g.symmetric = slices.Equal(rows, columns)
	if i := slices.IndexFunc(columns, func(c float32) bool { return c != 1 }); i >= 0 && !g.symmetric {
		return fmt.Errorf("samplers: the Laplacian is neither symmetric nor row-stochastic (column %d has scale %v): its form on a subgraph is unknown", i, columns[i])
	}
	return nil
}

// begin checks the arguments of Sample, and begins a draw of nodes. The caller puts the memory
// back.
func (g *subgraph) begin(ctx context.Context, seeds []int32) (*subgraphScratch, error) {
	if err := g.checkPrepared(); err != nil {
		return nil, err
	}
	s := g.get()
	s.numbering.begin(g.laplacian, s.numbering.nodes)
	if err := cmp.Or(ctx.Err(), s.seeds.check("seed", seeds, g.all)); err != nil {
		g.put(s)
		return nil, err
	}
	return s, nil
}

// fill fills block, but for Finish, with A+I among the nodes drawn, which are its input and
// its output nodes. A node's own entry comes first in its row.
func (g *subgraph) fill(s *subgraphScratch, block *graph.Block) {
	p, drawn := g.laplacian, s.numbering.nodes
	block.Src, block.ColScale = append(block.Src[:0], drawn...), resize(block.ColScale, len(drawn))
	for k, v := range drawn {
		block.ColScale[k] = p.ColScale[v]
		if g.nodes != nil {
			block.Src[k] = g.nodes[v]
		}
	}
	s.inside.fill(p.Nodes(), drawn)
	defer s.inside.clear(drawn)
	m := startBlock(block, block.Src)
	s.entries = s.entries[:0]
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
