package samplers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// RandomNodes is the node sampler of GraphSAINT: a unit is one node, drawn with
// probability p_v ∝ ‖P^[v]‖². So a_v = p_v and b_uv = 0.
type RandomNodes struct{}

// Law implements Units. Cost: O(edges) once, O(1) per unit.
func (RandomNodes) Law(p *graph.Laplacian) (*UnitLaw, error) {
	population := Population{Weights: p.ColumnNorms2()}
	if err := population.sum(); err != nil {
		return nil, err
	}
	table := newAliasTable(population.Weights, population.Total)
	probability := population.Weights
	for v := range probability {
		probability[v] /= population.Total
	}
	return &UnitLaw{
		Size: 1,
		Draw: func(rng *rand.Rand, unit []int32) []int32 { return append(unit, table.draw(rng)) },
		Node: probability,
		Pair: func(int32, int32, int64) float64 { return 0 },
	}, nil
}

// RandomEdges is the edge sampler of GraphSAINT: a unit is both ends of an edge,
// drawn with probability b_uv ∝ 1/d_u + 1/d_v. This is the law of a step from a
// uniform node to a uniform neighbour, so b_uv = (1/d_u + 1/d_v)/n and
// a_v = (1 + Σ 1/d_u)/n over the neighbours u of v. A node without neighbours is a
// unit by itself, with probability 1/n. The paper leaves such nodes out; no weight
// could correct for that.
type RandomEdges struct{}

// Law implements Units. Cost: O(edges) once, O(1) per unit.
func (RandomEdges) Law(p *graph.Laplacian) (*UnitLaw, error) {
	adjacency := p.Adjacency
	return &UnitLaw{
		Size: 2,
		Draw: func(rng *rand.Rand, unit []int32) []int32 { return walk(adjacency, 1, rng, unit) },
		Node: startOrFirstStep(adjacency),
		Pair: func(u, v int32, _ int64) float64 { return firstStep(adjacency, u, v) },
	}, nil
}

// startOrFirstStep returns, for each node, the probability that a step from a
// uniform node to a uniform neighbour starts or ends there.
func startOrFirstStep(adjacency *graph.CSR) []float64 {
	probability := make([]float64, adjacency.Rows)
	for v := range probability {
		sum := 1.0
		for _, u := range adjacency.Row(v) {
			sum += 1 / float64(adjacency.Degree(int(u)))
		}
		probability[v] = min(sum/float64(adjacency.Rows), 1)
	}
	return probability
}

// firstStep returns the probability that a step from a uniform node to a uniform
// neighbour goes along the edge between u and v, either way.
func firstStep(adjacency *graph.CSR, u, v int32) float64 {
	return (1/float64(adjacency.Degree(int(u))) + 1/float64(adjacency.Degree(int(v)))) / float64(adjacency.Rows)
}

// walk appends a walk from a uniform node, each step to a uniform neighbour. A walk
// from a node without neighbours has no steps.
func walk(adjacency *graph.CSR, steps int, rng *rand.Rand, unit []int32) []int32 {
	v := int32(rng.Uint32N(uint32(adjacency.Rows)))
	unit = append(unit, v)
	for range steps {
		row := adjacency.Row(int(v))
		if len(row) == 0 {
			break
		}
		v = row[rng.Uint32N(uint32(len(row)))]
		unit = append(unit, v)
	}
	return unit
}

// RandomWalks is the random walk sampler of GraphSAINT: a unit is the nodes of a
// walk of Length steps from a uniform node, each step to a uniform neighbour.
//
// The contribution of the start and the first step to a_v and b_uv is known, as for
// RandomEdges; the contribution of later steps is counted in walks drawn
// beforehand. No probability is therefore estimated as zero. Length 1 is exactly
// RandomEdges.
//
// Cost: O(Presampled·Length²) once, O(Length) per unit. Memory: 4 bytes per node
// and 8 bytes per edge.
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

// Law implements Units. The result depends on the fields and the graph alone.
func (w RandomWalks) Law(p *graph.Laplacian) (*UnitLaw, error) {
	if w.Length < 0 || w.Presampled < 0 {
		return nil, fmt.Errorf("samplers: random walks of %d steps, %d drawn beforehand: want at least 0", w.Length, w.Presampled)
	}
	steps := w.Length
	if steps == 0 {
		steps = 2
	}
	adjacency := p.Adjacency
	n := adjacency.Rows
	walks := w.Presampled
	if walks == 0 {
		walks = presampledVisits*n/(steps+1) + 1
	}
	visits, pairs := countWalks(adjacency, steps, walks)
	probability := startOrFirstStep(adjacency)
	for v := range probability {
		probability[v] = min(probability[v]+float64(visits[v])/float64(walks), 1)
	}
	return &UnitLaw{
		Size: steps + 1,
		Draw: func(rng *rand.Rand, unit []int32) []int32 { return walk(adjacency, steps, rng, unit) },
		Node: probability,
		Pair: func(u, v int32, entry int64) float64 {
			return firstStep(adjacency, u, v) + float64(pairs[entry])/float64(walks)
		},
	}, nil
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
		var unit, distinct []int32
		for range hi - lo {
			unit = walk(adjacency, steps, rng, unit[:0])
			distinct = distinct[:0]
			for _, v := range unit {
				if !slices.Contains(distinct, v) {
					distinct = append(distinct, v)
				}
			}
			for k, v := range distinct {
				if k < 2 { // the start and the first step
					continue
				}
				atomic.AddInt32(&visits[v], 1)
				for _, u := range distinct[:k] {
					if entry, ok := findEntry(adjacency, min(u, v), max(u, v)); ok {
						atomic.AddInt32(&pairs[entry], 1)
					}
				}
			}
		}
	})
	parallel.For(adjacency.Rows, 1<<10, func(lo, hi int) {
		for v := lo; v < hi; v++ { // the counts are above the diagonal: copy them below
			for c, u := range adjacency.Row(v) {
				if int(u) >= v {
					break
				}
				if entry, ok := findEntry(adjacency, u, int32(v)); ok {
					pairs[adjacency.Ptr[v]+int64(c)] = pairs[entry]
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
