package samplers

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Importance gives the candidate columns of P their unnormalised sampling
// probabilities. Implementations are read-only in use.
type Importance interface {
	// Global returns the unnormalised probability of every node where it does
	// not depend on a layer's rows, and nil where it does. It is called once a
	// sampler. With neighborhood set, only columns that are not zero on the
	// layer's rows are candidates; otherwise every node is.
	Global(p *graph.Laplacian) (weights []float64, neighborhood bool)

	// Local replaces weights[k], given as ‖QP^[i]‖² of candidate i = nodes[k],
	// by the unnormalised probability of i. It is called once a layer, and only
	// where Global returned nil.
	Local(nodes []int32, weights []float64)
}

// LADIES is layer-dependent importance sampling (Zou, Hu, Wang, Jiang, Sun & Gu
// 2019, arXiv:1911.07323): column i is drawn with probability ∝ ‖QP^[i]‖², Q the
// rows of the layer above. Cost: O(nonzeros of those rows) a layer.
type LADIES struct {
	// Flat draws with probability ∝ ‖QP^[i]‖ instead, which is optimal if the
	// rows of HW have equal norms (Chen et al. 2023, eq. 7).
	Flat bool

	// RowNorms, where known, holds ‖(HW)_[i]‖ of every node and replaces the
	// assumption about it: p_i ∝ ‖QP^[i]‖·‖(HW)_[i]‖, the probabilities of least
	// variance (Chen et al. 2023, eq. 5). A node whose norm is 0 is never drawn.
	RowNorms []float32
}

// Global returns nil: the probabilities depend on the layer's rows.
func (LADIES) Global(*graph.Laplacian) ([]float64, bool) { return nil, false }

// Local implements Importance.
func (l LADIES) Local(nodes []int32, weights []float64) {
	switch {
	case l.RowNorms != nil:
		kernel.SquareRoot(weights)
		for k, i := range nodes {
			weights[k] *= float64(l.RowNorms[i])
		}
	case l.Flat:
		kernel.SquareRoot(weights)
	}
}

// FastGCN is importance sampling with one law for all layers and batches (Chen,
// Ma & Xiao 2018, arXiv:1801.10247): node i is drawn with probability
// ∝ ‖P^[i]‖², from all nodes of the graph. Cost: O(edges) once, then O(s) a layer
// to draw and O(nonzeros of the rows) to build the block.
type FastGCN struct {
	// Flat draws with probability ∝ ‖P^[i]‖ instead.
	Flat bool

	// Neighborhood restricts the candidates to the columns that are not zero
	// on the layer's rows. With Flat it is what the program released with the
	// FastGCN paper does.
	Neighborhood bool
}

// Global implements Importance.
func (f FastGCN) Global(p *graph.Laplacian) ([]float64, bool) {
	weights := p.ColumnNorms2()
	if f.Flat {
		kernel.SquareRoot(weights)
	}
	return weights, f.Neighborhood
}

// Local does nothing: Global has answered.
func (FastGCN) Local([]int32, []float64) {}

// Uniform gives every candidate column the same probability.
type Uniform struct{}

// Global returns nil: the candidates depend on the layer's rows.
func (Uniform) Global(*graph.Laplacian) ([]float64, bool) { return nil, false }

// Local implements Importance.
func (Uniform) Local(_ []int32, weights []float64) {
	for k := range weights {
		weights[k] = 1
	}
}
