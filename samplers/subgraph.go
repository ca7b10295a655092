package samplers

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// subgraph is a sampler whose batch is a set S of nodes with the edges among them. All layers
// share one block.
type subgraph struct {
	law       setLaw
	depth     int
	laplacian *graph.Laplacian // of the graph that nodes are drawn from, over local numbers
	nodes     []int32          // the node of each local number, increasing; nil: the same number
	all       int              // number of nodes of the whole graph
	symmetric bool             // the Laplacian is D̃^-½(A+I)D̃^-½ and not D̃^-1(A+I)
	outputs   []bool           // of each local number: whether it may be an output node; nil: all
	workspace[subgraphScratch]
}

// setLaw is the law of the set S of nodes of a graph, and of the weights of a batch. It is
// read-only in use.
type setLaw interface {
	// draw draws S for a batch of so many seeds. S has an output node.
	draw(s *subgraphScratch, seeds int, rng *rand.Rand)

	// weigh changes the entries of block from A+I to P̃. Both are among the nodes drawn; p is the
	// Laplacian. It appends the weights of the nodes' losses to losses, and returns the result.
	weigh(s *subgraphScratch, seeds int, p *graph.Laplacian, block *graph.Block, losses []float32) []float32
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
	rows      []int32   // of the block, that belong to output nodes
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
	g.laplacian, g.all, g.depth = p, p.Nodes(), depth
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

// Sample implements Sampler. It uses only the number of seeds, which must be distinct nodes.
func (g *subgraph) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := g.checkPrepared(); err != nil {
		return err
	}
	s := g.get()
	defer g.put(s)
	if err := cmp.Or(ctx.Err(), s.seeds.check("seed", seeds, g.all)); err != nil {
		return err
	}
	s.numbering.begin(g.laplacian, s.numbering.nodes)
	g.law.draw(s, len(seeds), rng)
	batch.Reset(2)
	block, top := batch.Blocks[0], batch.Blocks[0]
	g.fill(s, block)
	batch.LossWeights = g.law.weigh(s, len(seeds), g.laplacian, block, batch.LossWeights)
	block.Finish()
	if g.outputs != nil {
		top = batch.Blocks[1]
		g.keepOutputs(s, block, top)
	}
	batch.Blocks = batch.Blocks[:0]
	for range g.depth - 1 {
		batch.Blocks = append(batch.Blocks, block)
	}
	batch.Blocks = append(batch.Blocks, top)
	return nil
}

// keepOutputs fills top with the rows of block that belong to output nodes.
func (g *subgraph) keepOutputs(s *subgraphScratch, block, top *graph.Block) {
	top.Src = append(top.Src[:0], block.Src...)
	top.ColScale = append(top.ColScale[:0], block.ColScale...)
	top.Dst, s.rows = top.Dst[:0], s.rows[:0]
	for k, v := range s.numbering.nodes {
		if g.outputs[v] {
			top.Dst, s.rows = append(top.Dst, block.Src[k]), append(s.rows, int32(k))
		}
	}
	kernel.SelectRows(&top.Matrix, &block.Matrix, s.rows)
	top.Finish()
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
