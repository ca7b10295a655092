package study

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ColumnNorms returns ‖P^[i]‖ of every node. Cost: O(edges).
func ColumnNorms(p *graph.Laplacian) []float64 {
	norms := p.ColumnNorms2()
	for i, v := range norms {
		norms[i] = math.Sqrt(v)
	}
	return norms
}

// columnWalk computes ‖QP^[i]‖ for one batch after another.
type columnWalk struct {
	*graph.Laplacian // P

	nodes []int32   // columns that are not zero, in order of first occurrence
	norms []float64 // ‖QP^[i]‖ of each

	squares []float64 // of every node of the graph; 0 between walks
}

func newColumnWalk(p *graph.Laplacian) *columnWalk {
	return &columnWalk{Laplacian: p, squares: make([]float64, p.Nodes())}
}

// batches walks the rows of mini-batches drawn from nodes, one after another, and calls visit
// and then progress, if it is not nil, after each.
func (w *columnWalk) batches(ctx context.Context, nodes []int32, batch, batches int, seed uint64, progress func(done, total int), visit func(b int)) error {
	for b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.walk(RandomBatch(rand.New(samplers.NewSource(seed, 0, uint64(b))), nodes, batch))
		visit(b)
		report(progress, b+1, batches)
	}
	return nil
}

// walk sets nodes and norms for the rows Q. Cost: O(nonzeros of the rows).
func (w *columnWalk) walk(rows []int32) {
	w.nodes, w.norms = w.nodes[:0], w.norms[:0]
	for _, r := range rows {
		for i, v := range w.Row(int(r)) {
			if w.squares[i] == 0 {
				w.nodes = append(w.nodes, i)
			}
			w.squares[i] += v * v
		}
	}
	for _, i := range w.nodes {
		w.norms = append(w.norms, math.Sqrt(w.squares[i]))
		w.squares[i] = 0
	}
}

// RandomBatch returns size distinct elements of nodes in random order, or all
// elements if there are fewer. Cost: O(len(nodes)).
func RandomBatch(rng *rand.Rand, nodes []int32, size int) []int32 {
	size = max(0, min(size, len(nodes)))
	left := slices.Clone(nodes)
	for k := range size {
		j := k + rng.IntN(len(left)-k)
		left[k], left[j] = left[j], left[k]
	}
	return slices.Clone(left[:size])
}
