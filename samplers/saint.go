package samplers

import (
	"cmp"
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
// IndependentNodes are another estimate, and biased.
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
// A batch uses only the number of its seeds: it draws about as many nodes, repeats counted.
//
// Cost of a batch: O(r) to draw, O(degrees of S) to find the edges. Memory: the
// training graph, 8 bytes per node and the memory of Units; 8 bytes per node for
// each concurrent call.
type SAINT struct {
	Laplacian *graph.Laplacian // of the whole graph; required
	Train     []int32          // training nodes; nil means all nodes, and Laplacian as it is
	Depth     int              // number of layers; required
	Units     Units            // nil means RandomNodes{}

	subgraph
}

var (
	_ Preparer   = (*SAINT)(nil)
	_ OwnOutputs = (*SAINT)(nil)
)

// Units is a law of random sets of nodes: RandomNodes, RandomWalks or IndependentNodes.
type Units interface {
	// law returns the law over the training graph, whose Laplacian is p.
	law(p *graph.Laplacian) (setLaw, error)
}

// Layers returns Depth.
func (s *SAINT) Layers() int { return s.Depth }

// Prepare implements Preparer. It builds the training graph and the law, which takes seconds
// on a large graph.
func (s *SAINT) Prepare() error { return s.once(s.setUp) }

func (s *SAINT) setUp() (err error) {
	if err := s.useTraining("SAINT", s.Laplacian, s.Depth, s.Train); err != nil {
		return err
	}
	s.law, err = cmp.Or[Units](s.Units, RandomNodes{}).law(s.laplacian)
	return err
}

// unitLaw is the law of the union of r units.
type unitLaw struct {
	size int // the largest number of nodes in a unit

	// unit adds the nodes of one unit to set.
	unit func(rng *rand.Rand, set *numbering)

	// node holds a_v of each node. pair returns b_uv for the ends of entry number entry of the
	// adjacency matrix, which is in row u.
	node []float64
	pair func(u, v int32, entry int64) float64
}

// units returns r.
func (l *unitLaw) units(seeds int) int { return max(1, seeds/l.size) }

func (l *unitLaw) draw(s *subgraphScratch, seeds int, rng *rand.Rand) {
	for range l.units(seeds) {
		l.unit(rng, &s.numbering)
	}
}

func (l *unitLaw) weigh(s *subgraphScratch, seeds int, p *graph.Laplacian, block *graph.Block, losses []float32) []float32 {
	m, drawn, r, n := &block.Matrix, s.numbering.nodes, float64(l.units(seeds)), float64(p.Nodes())
	s.present = s.present[:0]
	for _, v := range drawn {
		present := -math.Expm1(r * math.Log1p(-l.node[v]))
		s.present = append(s.present, present)
		losses = append(losses, float32(1/(n*present)))
	}
	for k, v := range drawn {
		scale, columns, values := float64(p.RowScale[v]), m.Row(k), m.RowValues(k)
		for c, place := range s.entries[m.Ptr[k]:m.Ptr[k+1]] {
			j := columns[c]
			u := drawn[j]
			e := scale * float64(p.ColScale[u])
			if place >= 0 {
				either := min(l.node[v]+l.node[u]-l.pair(v, u, place), 1)
				both := math.Expm1(r*math.Log1p(-either)) + s.present[k] + s.present[j]
				e = e * s.present[k] / both * float64(values[c]) // P_vu/α_uv
			}
			values[c] = float32(e)
		}
	}
	return losses
}
