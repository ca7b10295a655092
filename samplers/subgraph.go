package samplers

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Subgraph draws a random set S of nodes for a batch, with the edges among them. All layers
// propagate over this one block, with entries and weights of the losses that depend on the law
// of S: GraphSAINT's RandomNodes and RandomWalks, IndependentNodes, or the Clusters of
// Cluster-GCN. The output nodes are the training nodes in S. So all layers depend on each other:
// even if the estimate of one layer is unbiased, the output after two or more layers is not, and
// neither is the loss after any activation.
//
// A batch uses only the number of its seeds: S has about as many training nodes, repeats counted.
//
// Cost of a batch: O(degrees of S), and the draw's. Memory: what Units says, and the training
// graph, unless the nodes are drawn from the whole graph; 8 bytes per node for each concurrent
// call.
type Subgraph struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes, and Laplacian as it is
	Depth     int              // number of layers; required
	Units     Units            // nil means RandomNodes{}

	symmetric bool // the Laplacian is D̃^-½(A+I)D̃^-½, and not D̃^-1(A+I)
	law       setLaw
	laplacian *graph.Laplacian // of the graph that nodes are drawn from, over local numbers
	nodes     []int32          // the node of each local number, increasing; nil: the same number
	outputs   []bool           // of each local number: whether it may be an output node; nil: all
	preparation
}

// Units is a law of random sets of nodes: RandomNodes, RandomWalks or IndependentNodes of the
// training graph, or Clusters of the whole one.
type Units interface {
	// law returns the law for a Subgraph whose other fields are set, but for outputs.
	law(s *Subgraph) (setLaw, error)
}

// setLaw is the law of the set S of nodes of a graph, and of the weights of a batch. It is
// read-only in use.
type setLaw interface {
	// draw draws S for a batch of so many seeds, and numbers its nodes in w. S has an output node.
	draw(w *workspace, seeds int, rng *rand.Rand)

	// weigh changes the entries of block from A+I to P̃. Both are among the nodes numbered in w.
	// It appends the weights of the nodes' losses to losses, and returns the result.
	weigh(w *workspace, seeds int, block *graph.Block, losses []float32) []float32
}

// Layers returns Depth.
func (s *Subgraph) Layers() int { return s.Depth }

// Prepare checks the fields and makes the training graph and the law, which takes seconds on a
// large graph.
func (s *Subgraph) Prepare() error { return s.prepare(s, s.Laplacian, s.Depth, nil, s.setUp) }

func (s *Subgraph) setUp() (err error) {
	p := s.Laplacian
	if p.Directed { // the estimates need A to be symmetric
		return errors.New("samplers: a sampler of subgraphs needs an undirected graph; methods that take nodes or neighbours layer by layer, such as ladies and neighbor, also take a directed one")
	}
	s.symmetric = slices.Equal(p.RowScale, p.ColScale)
	if !s.symmetric && slices.ContainsFunc(p.ColScale, func(c float32) bool { return c != 1 }) {
		return errors.New("samplers: the Laplacian is neither symmetric nor row-stochastic: its form on a subgraph is unknown")
	}
	s.laplacian = p
	units := cmp.Or[Units](s.Units, RandomNodes{})
	if s.Train != nil {
		if err := new(nodeTable).check("training node", s.Train, p.Nodes()); err != nil {
			return err
		}
		if _, whole := units.(Clusters); !whole { // the training graph, in the form of Laplacian
			s.nodes = slices.Sorted(slices.Values(s.Train))
			induced := induce(p.Adjacency, s.nodes)
			if s.laplacian = graph.NewRowLaplacian(induced); s.symmetric {
				s.laplacian = graph.NewLaplacian(induced)
			}
		}
	}
	s.law, err = units.law(s)
	return err
}

// induce returns the adjacency matrix of the subgraph of a, which is symmetric, induced by
// nodes: its rows, and of their transpose the rows again.
func induce(a *graph.CSR, nodes []int32) *graph.CSR {
	var rows, induced graph.CSR
	kernel.SelectRows(&rows, a, nodes)
	kernel.SelectRows(&induced, rows.Transpose(), nodes)
	return &induced
}

// Sample implements Sampler. It uses only the number of seeds, which must be distinct nodes.
func (s *Subgraph) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := cmp.Or(ctx.Err(), s.checkSeeds(seeds)); err != nil {
		return err
	}
	w := s.workspace()
	defer s.pool.Put(w)
	w.begin(s.laplacian, nil)
	s.law.draw(w, len(seeds), rng)
	batch.Reset(2)
	block, top := batch.Blocks[0], batch.Blocks[0]
	s.fill(w, block)
	batch.LossWeights = s.law.weigh(w, len(seeds), block, batch.LossWeights)
	block.Finish()
	if s.outputs != nil {
		top = batch.Blocks[1]
		s.keepOutputs(w, block, top)
	}
	fill(resize(&batch.Blocks, s.Depth), block)
	batch.Blocks[s.Depth-1] = top
	return nil
}

// keepOutputs fills top with the rows of block that belong to output nodes.
func (s *Subgraph) keepOutputs(w *workspace, block, top *graph.Block) {
	top.Src = append(top.Src[:0], block.Src...)
	top.ColScale = append(top.ColScale[:0], block.ColScale...)
	top.Dst, w.local = top.Dst[:0], w.local[:0]
	for k, v := range w.nodes {
		if s.outputs[v] {
			top.Dst, w.local = append(top.Dst, block.Src[k]), append(w.local, int32(k))
		}
	}
	kernel.SelectRows(&top.Matrix, &block.Matrix, w.local)
	top.Finish()
}

// fill fills block, but for Finish, with A+I among the nodes numbered in w, which are its input
// and its output nodes. A node's own entry comes first in its row.
func (s *Subgraph) fill(w *workspace, block *graph.Block) {
	block.Src = append(block.Src[:0], w.nodes...)
	block.ColScale = append(block.ColScale[:0], w.scales...)
	if s.nodes != nil {
		for k, v := range w.nodes {
			block.Src[k] = s.nodes[v]
		}
	}
	block.Dst = append(block.Dst[:0], block.Src...)
	w.walkInside(&block.Matrix, w.nodes, w.nodes)
}
