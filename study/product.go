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
	"github.com/gcn-layerwise/gcn/internal/parallel"
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
	parallel.For(c.Rows, 1024, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			var sum float64
			for _, v := range c.Row(i) {
				sum += float64(v) * float64(v)
			}
			norms[i] = math.Sqrt(sum)
		}
	})
	return norms
}

// Products returns the product HW of each convolution of a trained model, next to the output
// first. H is the layer's input, computed over full neighbourhoods of all nodes without
// dropout, and W the layer's weight. Cost: for each layer, inference up to it.
func Products(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]*graph.Features, error) {
	var all []*graph.Features
	for l := 0; l == 0 || l < len(m.Convolutions); l++ { // without a model layer 0 is the error
		hw, err := LayerProduct(ctx, m, p, x, l, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, hw)
	}
	slices.Reverse(all)
	return all, nil
}

// LayerProduct returns HW of one convolution, as Products does. It holds the rows of nodes only,
// unless they are nil, for all. Layer 0 reads the features; errors call it layer 1, as the
// command does. It runs inference for the nodes up to the layer.
func LayerProduct(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, layer int, nodes []int32) (*graph.Features, error) {
	if m == nil || x == nil || layer < 0 || layer >= len(m.Convolutions) {
		return nil, fmt.Errorf("study: a product of layer %d needs a model with it, and features", layer+1)
	}
	if err := checkGraph(p); err != nil {
		return nil, err
	}
	var weight []float32
	for l, c := range m.Convolutions[:layer+1] {
		if c == nil || c.W == nil || c.W.Value() == nil || c.W.Dtype() != tensor.Float32 {
			return nil, fmt.Errorf("study: layer %d of the model has no float32 weight", l+1)
		}
		weight = c.W.Value().Data().([]float32)
	}
	if layer > 0 {
		h, width, err := m.InferHidden(ctx, p, x, nodes, layer)
		if err != nil {
			return nil, err
		}
		x = &graph.Features{Rows: len(h) / width, Cols: width, Data: h}
	} else if nodes != nil {
		h := make([]float32, 0, len(nodes)*x.Cols)
		for _, v := range nodes {
			h = append(h, x.Row(int(v))...)
		}
		x = &graph.Features{Rows: len(nodes), Cols: x.Cols, Data: h}
	}
	hw, err := Product(x, weight)
	if err != nil || nodes == nil {
		return hw, err
	}
	hw.Rows, hw.Place = p.Nodes(), slices.Repeat([]int32{-1}, p.Nodes())
	for k, v := range nodes {
		hw.Place[v] = int32(k)
	}
	return hw, nil
}

// ModelNorms returns ‖(HW)_[i]‖ of every node and convolution of a trained
// model, the first one first. It holds one layer's product in memory at a time.
func ModelNorms(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]LayerNorms, error) {
	var all []LayerNorms
	for l := 0; l == 0 || l < len(m.Convolutions); l++ { // without a model layer 0 is the error
		hw, err := LayerProduct(ctx, m, p, x, l, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, LayerNorms{Name: fmt.Sprintf("layer %d", l+1), Norms: RowNorms(hw)})
	}
	return all, nil
}
