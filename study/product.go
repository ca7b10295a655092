package study

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/layers"
)

// Product returns H·W, for H of one row a node and a row-major weight W of h.Cols
// rows. The error names sizes that do not fit. Cost: 2·nodes·rows·columns of W
// operations, and 4·nodes·columns bytes for the result. Features in half precision
// are first widened, all at once.
func Product(h *graph.Features, weight []float32) (*graph.Features, error) {
	if h == nil || h.Rows < 0 || h.Cols < 1 || h.Share != nil || !h.Sized() {
		return nil, errors.New("study: a product needs features that hold all their values")
	}
	if len(weight) == 0 || len(weight)%h.Cols != 0 {
		return nil, fmt.Errorf("study: a weight of %d numbers does not fit %d features", len(weight), h.Cols)
	}
	width := len(weight) / h.Cols
	if err := memory.Check(fmt.Sprintf("study: a product of %d×%d", h.Rows, width), memory.Product(4, int64(h.Rows), int64(width))); err != nil {
		return nil, err
	}
	b, err := blas.Default()
	if err != nil {
		return nil, err
	}
	c := &graph.Features{Rows: h.Rows, Cols: width, Data: make([]float32, h.Rows*width)}
	if h.Sparse != nil {
		kernel.SpMM(c.Data, h.Sparse, weight, width)
		return c, nil
	}
	b.Sgemm(false, false, h.Rows, width, h.Cols, 1, h.Float32s(), h.Cols, weight, width, 0, c.Data, width)
	return c, nil
}

// RowNorms returns the Euclidean norm of each row of c. Cost: one pass.
func RowNorms(c *graph.Features) []float64 {
	norms := make([]float64, c.Rows)
	for i := range norms {
		norms[i] = math.Sqrt(squaredNorm(c.Row(i)))
	}
	return norms
}

// Products returns the product HW of each convolution of a trained model, next to the output
// first. H is the layer's input, computed over full neighbourhoods of all nodes without
// dropout, and W the layer's weight. Cost: for each layer, inference up to it.
func Products(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]*graph.Features, error) {
	all, err := ofProducts(ctx, m, p, x, func(hw *graph.Features) *graph.Features { return hw })
	slices.Reverse(all)
	return all, err
}

// ofProducts returns a value of the product HW of each convolution, the first one first. It keeps the
// values only.
func ofProducts[T any](ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, value func(hw *graph.Features) T) ([]T, error) {
	if m == nil {
		return nil, errors.New("study: products and norms need a model")
	}
	var all []T
	for l := range m.Convolutions {
		hw, err := LayerProduct(ctx, m, p, x, l, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, value(hw))
	}
	return all, nil
}

// LayerProduct returns HW of one convolution, as Products does: a row for each of nodes, or, if
// they are nil, of the graph. Layer 0 reads the features; errors call it layer 1, as the command
// does. It runs inference for the nodes up to the layer.
func LayerProduct(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, layer int, nodes []int32) (*graph.Features, error) {
	if m == nil || x == nil || layer < 0 || layer >= len(m.Convolutions) {
		return nil, fmt.Errorf("study: a product of layer %d needs a model with it, and features", layer+1)
	}
	if err := checkGraph(p); err != nil {
		return nil, err
	}
	c := m.Convolutions[layer]
	if c == nil || c.W == nil || c.W.Value() == nil || c.W.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("study: layer %d of the model has no float32 weight", layer+1)
	}
	weight := c.W.Value().Data().([]float32)
	switch {
	case layer > 0:
		h, width, err := m.InferHidden(ctx, p, x, nodes, layer)
		if err != nil {
			return nil, err
		}
		return Product(&graph.Features{Rows: len(h) / width, Cols: width, Data: h}, weight)
	case nodes == nil:
		return Product(x, weight)
	}
	places, err := x.Places(nil, nodes)
	if err != nil {
		return nil, err
	}
	rows := &graph.Features{Rows: len(nodes), Cols: x.Cols, Data: make([]float32, len(nodes)*x.Cols)}
	kernel.GatherFeatures(rows.Data, x, places)
	return Product(rows, weight)
}

// ModelNorms returns ‖(HW)_[i]‖ of every node and convolution of a trained
// model, the first one first.
func ModelNorms(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([][]float64, error) {
	return ofProducts(ctx, m, p, x, RowNorms)
}
