package samplers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// SAINT is subgraph sampling (GraphSAINT: Zeng, Zhou, Srivastava, Kannan &
// Prasanna 2020, "GraphSAINT: Graph Sampling Based Inductive Learning Method",
// arXiv:1907.04931). A batch is a random set S of nodes of the training graph, with
// all edges among them. Every layer propagates over it:
//
//	(P̃H)_v = P_vv H_v + Σ P_vu/α_uv H_u   over the neighbours u of v in S,
//	loss    = Σ L_v/λ_v                    over v in S,
//	α_uv = P(u, v ∈ S)/P(v ∈ S),   λ_v = |training nodes|·P(v ∈ S).
//
// P is the Laplacian of the training graph: propagation never reads a node that is
// not a training node.
//
// Unbiased in the sense of the paper: given that v is in S, E[(P̃H)_v] = (PH)_v for
// any fixed H, and E[loss] is the mean over the training nodes for any fixed L.
// All layers use the same subgraph and so depend on each other: the output after
// two or more layers is biased, and so is the loss after any activation.
//
// S is the union of r independent units; a unit is a node, an edge or a random
// walk. With a_v the probability that a unit contains v, and b_uv that it contains
// u and v,
//
//	P(v ∈ S) = 1 − (1−a_v)^r,
//	P(u, v ∈ S) = 1 − (1−a_u)^r − (1−a_v)^r + (1−a_u−a_v+b_uv)^r.
//
// The paper counts both probabilities in subgraphs sampled beforehand. Here a and b
// have a closed form for nodes and edges, and are counted in walks sampled
// beforehand for walks, so the formulas hold for any r.
//
// Cost of a batch: O(r) to draw, O(degrees of S) to find the edges. Memory: the
// training graph, 8 bytes per node and the memory of Units; 8 bytes per node for
// each concurrent call.
type SAINT struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes, and Laplacian as it is
	Depth     int              // number of layers; required
	Units     Units            // nil means RandomNodes{}

	graph *subgraph
	law   *UnitLaw
	workspace[saintScratch]
}

var (
	_ Preparer   = (*SAINT)(nil)
	_ OwnOutputs = (*SAINT)(nil)
)

// Units is a law of small random sets of nodes: RandomNodes, RandomEdges,
// RandomWalks.
type Units interface {
	// Law returns the law of the units of one graph, whose Laplacian is p.
	Law(p *graph.Laplacian) (*UnitLaw, error)
}

// UnitLaw draws units of one graph and knows their probabilities. It is
// read-only in use.
type UnitLaw struct {
	Size int // the largest number of nodes in a unit

	// Draw appends the nodes of one unit to unit. A node may occur repeatedly.
	Draw func(rng *rand.Rand, unit []int32) []int32

	// Node holds a_v, the probability that a unit contains node v.
	Node []float64

	// Pair returns b_uv, the probability that a unit contains both ends of an edge
	// of row u. The edge is entry number entry of the adjacency matrix.
	Pair func(u, v int32, entry int64) float64
}

// saintScratch is the memory of one call.
type saintScratch struct {
	subgraphScratch
	unit   []int32
	absent []float64 // P(v ∉ S) − 1 of each node of S
}

// Layers returns Depth.
func (s *SAINT) Layers() int { return s.Depth }

// OwnOutputs implements OwnOutputs.
func (s *SAINT) OwnOutputs() {}

// Prepare implements Preparer. It builds the training graph and the law, which takes seconds
// on a large graph.
func (s *SAINT) Prepare() error { return s.once(s.setUp) }

func (s *SAINT) setUp() (err error) {
	if err := checkSubgraph("SAINT", s.Laplacian, s.Depth); err != nil {
		return err
	}
	if s.graph, err = newSubgraph(s.Laplacian, s.Train); err != nil {
		return err
	}
	if s.graph.laplacian.Nodes() == 0 {
		return errors.New("samplers: SAINT on a graph without nodes")
	}
	units := s.Units
	if units == nil {
		units = RandomNodes{}
	}
	if s.law, err = units.Law(s.graph.laplacian); err != nil {
		return err
	}
	if s.law == nil || s.law.Size < 1 {
		return fmt.Errorf("samplers: %T gives no law, or one of units without nodes", units)
	}
	if len(s.law.Node) != s.graph.laplacian.Nodes() {
		return fmt.Errorf("samplers: %T gives %d probabilities for %d nodes", units, len(s.law.Node), s.graph.laplacian.Nodes())
	}
	return nil
}

// Sample implements Sampler. It uses only the number of seeds, which must be
// distinct nodes: as many nodes are drawn, repeats counted. All layers share one
// block.
func (s *SAINT) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *MiniBatch) error {
	if err := s.checkPrepared(); err != nil {
		return err
	}
	scratch := s.get()
	defer s.put(scratch)
	if err := scratch.begin(ctx, s.Laplacian, seeds, s.graph); err != nil {
		return err
	}
	block := batch.oneBlock(s.Depth)

	units := max(1, len(seeds)/s.law.Size)
	ids := &scratch.numbering
	for range units {
		scratch.unit = s.law.Draw(rng, scratch.unit[:0])
		for _, v := range scratch.unit {
			ids.numberOrAdd(v)
		}
	}
	batch.LossWeights = s.fill(scratch, float64(units), block, batch.LossWeights)
	return nil
}

// fill fills block, whose input and output nodes are the nodes drawn, and returns
// weights with the loss weights appended.
func (s *SAINT) fill(scratch *saintScratch, units float64, block *graph.Block, weights []float32) []float32 {
	ids := &scratch.numbering
	p := s.graph.laplacian
	n := float64(p.Nodes())
	scratch.absent = resize(scratch.absent, len(ids.nodes))
	for k, v := range ids.nodes {
		absent := math.Expm1(units * math.Log1p(-s.law.Node[v]))
		scratch.absent[k] = absent
		weights = append(weights, float32(-1/(n*absent)))
	}
	scratch.induce(s.graph, block)
	m := &block.Matrix
	for k, v := range ids.nodes {
		scale, from := float64(p.RowScale[v]), m.Ptr[k]
		for c, l := range m.Row(k) {
			at := from + int64(c)
			u := ids.nodes[l]
			e := scale * float64(p.ColScale[u])
			if place := scratch.entries[at]; place >= 0 {
				either := s.law.Node[v] + s.law.Node[u] - s.law.Pair(v, u, place)
				both := math.Expm1(units*math.Log1p(-min(either, 1))) - scratch.absent[k] - scratch.absent[l]
				e = e * -scratch.absent[k] / both * float64(m.Val[at]) // P_vu/α_uv
			}
			m.Val[at] = float32(e)
		}
	}
	block.Finish()
	return weights
}
