package samplers

import (
	"math"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
)

// RandomNodes is the node sampler of GraphSAINT (Zeng, Zhou, Srivastava, Kannan & Prasanna 2020,
// "GraphSAINT: Graph Sampling Based Inductive Learning Method", arXiv:1907.04931). Every layer
// propagates over S:
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
// A unit of RandomNodes is one node, drawn with probability p_v ∝ ‖P^[v]‖². So a_v = p_v and
// b_uv = 0. Cost: O(edges) once, O(1) per unit. Memory: 24 bytes per node.
type RandomNodes struct{}

func (RandomNodes) law(s *Subgraph) (setLaw, error) {
	population, err := NewPopulation(s.laplacian.ColumnNorms2())
	table := newAliasTable(population.Weights, population.Total)
	return &unitLaw{
		size: 1,
		unit: func(rng *rand.Rand, set *numbering) { set.numberOrAdd(table.draw(rng)) },
		node: population.probabilities(),
		pair: func(int32, int32, int64) float64 { return 0 },
	}, err
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

func (l *unitLaw) draw(w *workspace, seeds int, rng *rand.Rand) {
	for range l.units(seeds) {
		l.unit(rng, &w.numbering)
	}
}

func (l *unitLaw) weigh(w *workspace, seeds int, block *graph.Block, losses []float32) []float32 {
	m, p, r := &block.Matrix, w.laplacian, float64(l.units(seeds))
	present := resize(&w.values, len(w.nodes)) // P(v ∈ S) of each node
	for k, v := range w.nodes {
		present[k] = -math.Expm1(r * math.Log1p(-l.node[v]))
		losses = append(losses, float32(1/(float64(p.Nodes())*present[k])))
	}
	for k, v := range w.nodes {
		scale, columns, values := float64(p.RowScale[v]), m.Row(k), m.RowValues(k)
		for c, place := range w.positions[m.Ptr[k]:m.Ptr[k+1]] {
			j := columns[c]
			u := w.nodes[j]
			e := scale * float64(w.scales[j])
			if place >= 0 {
				either := min(l.node[v]+l.node[u]-l.pair(v, u, place), 1)
				both := math.Expm1(r*math.Log1p(-either)) + present[k] + present[j]
				e = e * present[k] / both * float64(values[c]) // P_vu/α_uv
			}
			values[c] = float32(e)
		}
	}
	return losses
}
