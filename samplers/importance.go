package samplers

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Importance gives the candidate columns of P their unnormalised sampling
// probabilities. Implementations are read-only in use.
type Importance interface {
	// Global returns the unnormalised probability of every node, or nil if it
	// depends on a layer's rows. With neighborhood, only columns that are not
	// zero on the layer's rows are candidates; otherwise all nodes are. A sampler
	// calls Global once.
	Global(p *graph.Laplacian) (weights []float64, neighborhood bool)

	// Local replaces weights[k] by the unnormalised probability of candidate
	// i = nodes[k]; on entry weights[k] is ‖QP^[i]‖². A sampler calls Local for
	// each draw, and only if Global returned nil.
	Local(nodes []int32, weights []float64)
}

// LADIES is layer-dependent importance sampling (Zou, Hu, Wang, Jiang, Sun & Gu
// 2019, arXiv:1911.07323): column i is drawn with probability ∝ ‖QP^[i]‖², where Q
// selects the rows of the layer. Cost: O(nonzeros of the rows) per layer.
type LADIES struct {
	// Flat draws with probability ∝ ‖QP^[i]‖ instead, which is optimal if the
	// rows of HW have equal norms (Chen et al. 2023, eq. 7).
	Flat bool

	// RowNorms, if not nil, holds ‖(HW)_[i]‖ of every node. The probabilities are
	// then p_i ∝ ‖QP^[i]‖·‖(HW)_[i]‖, which gives the least variance (Chen et al.
	// 2023, eq. 5), and Flat has no effect. A node of norm 0 is never drawn.
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

// FastGCN is importance sampling with the same law for all layers and batches
// (Chen, Ma & Xiao 2018, arXiv:1801.10247): node i is drawn with probability
// ∝ ‖P^[i]‖², from all nodes of the graph. Cost: O(edges) once; per layer O(s) to
// draw and O(nonzeros of the rows) to build the block.
type FastGCN struct {
	// Flat draws with probability ∝ ‖P^[i]‖ instead.
	Flat bool

	// Neighborhood restricts the candidates to the columns that are not zero on
	// the layer's rows. The program released with the FastGCN paper sets this and
	// Flat.
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

// Local does nothing: Global returns the probabilities.
func (FastGCN) Local([]int32, []float64) {}

// Uniform gives every candidate column the same probability.
type Uniform struct{}

// Global returns nil: the candidates depend on the layer's rows.
func (Uniform) Global(*graph.Laplacian) ([]float64, bool) { return nil, false }

// Local implements Importance.
func (Uniform) Local(_ []int32, weights []float64) { fill(weights, 1) }
