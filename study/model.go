package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
)

// Products returns the product HW of each convolution of a trained model, next to the output
// first. H is the layer's input, computed over full neighbourhoods of all nodes without
// dropout, and W the layer's weight. Cost: for each layer, inference up to it.
func Products(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]*graph.Features, error) {
	if m == nil {
		return nil, errors.New("study: products need a model")
	}
	var all []*graph.Features
	for l := range m.Convolutions {
		hw, err := LayerProduct(ctx, m, p, x, len(m.Convolutions)-1-l)
		if err != nil {
			return nil, err
		}
		all = append(all, hw)
	}
	return all, nil
}

// LayerProduct returns HW of one convolution, as Products does. Layer 0 reads the
// features; errors call it layer 1, as the command does. It runs inference up to the layer.
func LayerProduct(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, layer int) (*graph.Features, error) {
	if m == nil || x == nil {
		return nil, errors.New("study: a layer's product needs a model and features")
	}
	if err := checkGraph(ctx, p); err != nil {
		return nil, err
	}
	if layer < 0 || layer >= len(m.Convolutions) {
		return nil, fmt.Errorf("study: layer %d of a model of %d convolutions", layer+1, len(m.Convolutions))
	}
	for l, c := range m.Convolutions[:layer+1] {
		if c == nil || c.W == nil || c.W.Value() == nil {
			return nil, fmt.Errorf("study: layer %d of the model has no weight", l+1)
		}
	}
	values, ok := m.Convolutions[layer].W.Value().Data().([]float32)
	if !ok {
		return nil, fmt.Errorf("study: the weight of layer %d is no float32 matrix", layer+1)
	}
	if layer > 0 {
		h, width, err := m.InferHidden(ctx, p, x, nil, layer)
		if err != nil {
			return nil, err
		}
		x = &graph.Features{Rows: len(h) / width, Cols: width, Data: h}
	}
	return Product(x, values)
}

// ModelNorms returns ‖(HW)_[i]‖ of every node and convolution of a trained
// model, the first one first. It holds one layer's product in memory at a time.
func ModelNorms(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]LayerNorms, error) {
	if m == nil {
		return nil, errors.New("study: norms need a model")
	}
	var all []LayerNorms
	for l := range m.Convolutions {
		hw, err := LayerProduct(ctx, m, p, x, l)
		if err != nil {
			return nil, err
		}
		all = append(all, LayerNorms{Name: fmt.Sprintf("layer %d", l+1), Norms: RowNorms(hw)})
	}
	return all, nil
}
