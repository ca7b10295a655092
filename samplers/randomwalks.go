package samplers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// RandomWalks is the random walk sampler of GraphSAINT, see RandomNodes: a unit is the nodes of a
// walk of Length steps from a uniform node, each step to a uniform neighbour.
//
// With Length 1 it is the edge sampler: a unit is both ends of an edge, drawn with probability
// b_uv = (1/d_u + 1/d_v)/n, so that a_v = (1 + Σ 1/d_u)/n over the neighbours u of v. A node
// without neighbours is a unit by itself, with probability 1/n. The paper leaves such nodes
// out; no weight could correct for that.
//
// The contribution of later steps to a_v and b_uv is counted in walks drawn
// beforehand. No probability is therefore estimated as zero.
//
// Cost: O(edges) once, and with more steps O(Presampled·Length²); O(Length) per unit. Memory: 4
// bytes per node and 8 bytes per edge.
type RandomWalks struct {
	Length int // steps; 0 means 2

	// Presampled is the number of walks drawn beforehand. 0 means enough to
	// visit each node 50 times on average, as the program of the paper does.
	// The standard error of a probability q is √(q/Presampled).
	Presampled int
}

// presampledVisits is the mean number of visits to a node by the default number of
// walks.
const presampledVisits = 50

// law depends on the fields and the graph alone.
func (w RandomWalks) law(s *Subgraph) (setLaw, error) {
	if w.Length < 0 || w.Presampled < 0 {
		return nil, fmt.Errorf("samplers: random walks of %d steps, %d drawn beforehand: want at least 0", w.Length, w.Presampled)
	}
	adjacency, n, steps := s.laplacian.Adjacency, s.laplacian.Nodes(), cmp.Or(w.Length, 2)
	firstStep := func(u, v int32, _ int64) float64 {
		return (1/float64(adjacency.Degree(int(u))) + 1/float64(adjacency.Degree(int(v)))) / float64(n)
	}
	l := &unitLaw{
		size: steps + 1,
		unit: func(rng *rand.Rand, set *numbering) {
			walk(adjacency, steps, rng, func(v int32) { set.numberOrAdd(v) })
		},
		node: make([]float64, n),
		pair: firstStep,
	}
	for v := range l.node { // the start or the first step
		sum := 1.0
		for _, u := range adjacency.Row(v) {
			sum += 1 / float64(adjacency.Degree(int(u)))
		}
		l.node[v] = min(sum/float64(n), 1)
	}
	if steps == 1 {
		return l, nil
	}
	walks := cmp.Or(w.Presampled, presampledVisits*n/(steps+1)+1)
	visits, pairs := countWalks(adjacency, steps, walks)
	for v := range l.node {
		l.node[v] = min(l.node[v]+float64(visits[v])/float64(walks), 1)
	}
	l.pair = func(u, v int32, entry int64) float64 {
		return firstStep(u, v, entry) + float64(pairs[entry])/float64(walks)
	}
	return l, nil
}

// walk calls visit with the nodes of a walk from a uniform node, each step to a uniform
// neighbour. A walk from a node without neighbours has no steps.
func walk(adjacency *graph.CSR, steps int, rng *rand.Rand, visit func(v int32)) {
	v := int32(rng.Uint32N(uint32(adjacency.Rows)))
	visit(v)
	for range steps {
		row := adjacency.Row(int(v))
		if len(row) == 0 {
			return
		}
		v = row[rng.Uint32N(uint32(len(row)))]
		visit(v)
	}
}

// countWalks draws walks and counts, for each node, the walks that reach it only
// after their first step, and, for each entry of the adjacency matrix, the walks
// that contain both its nodes, but not as their first two.
func countWalks(adjacency *graph.CSR, steps, walks int) (visits, pairs []int32) {
	const grain = 1 << 12 // walks per random stream
	visits = make([]int32, adjacency.Rows)
	pairs = make([]int32, adjacency.NNZ())
	parallel.For(walks, grain, func(lo, hi int) {
		rng := rand.New(NewSource(0, 0, uint64(lo/grain)))
		var distinct []int32
		for range hi - lo {
			distinct = distinct[:0]
			walk(adjacency, steps, rng, func(v int32) {
				if !slices.Contains(distinct, v) {
					distinct = append(distinct, v)
				}
			})
			for k := 2; k < len(distinct); k++ { // after the start and the first step
				v := distinct[k]
				atomic.AddInt32(&visits[v], 1)
				for _, u := range distinct[:k] {
					if entry, stored := findEntry(adjacency, u, v); stored {
						back, _ := findEntry(adjacency, v, u)
						atomic.AddInt32(&pairs[entry], 1)
						atomic.AddInt32(&pairs[back], 1)
					}
				}
			}
		}
	})
	return visits, pairs
}

// findEntry returns the position of entry (u, v), and whether it is stored.
func findEntry(adjacency *graph.CSR, u, v int32) (int64, bool) {
	c, ok := slices.BinarySearch(adjacency.Row(int(u)), v)
	return adjacency.Ptr[u] + int64(c), ok
}
