package study

import (
	"context"
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
)

// Products calls visit with the product HW of each convolution of a trained
// model, layer 0 first. H is the layer's input, computed over full neighbourhoods
// of all nodes without dropout, and W the layer's weight. visit may keep hw. Cost:
// for each layer, inference up to it.
func Products(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, visit func(layer int, hw *graph.Features) error) error {
	if m == nil || visit == nil {
		return errors.New("study: products need a model and a function to visit them")
	}
	for l := range m.Convolutions {
		hw, err := LayerProduct(ctx, m, p, x, l)
		if err != nil {
			return err
		}
		if err := visit(l, hw); err != nil {
			return err
		}
	}
	return nil
}

// LayerProduct returns HW of one convolution, as Products does. Layer 0 is the
// first; errors call it layer 1, as the command does.
//
// It runs inference up to the layer, with the layer's weight, without bias, in
// place of the classifier.
func LayerProduct(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, layer int) (*graph.Features, error) {
	return ProductRows(ctx, m, p, x, layer, nil)
}

// ProductRows is LayerProduct at the given nodes (nil: all), one row a node. Cost: inference
// for these nodes.
func ProductRows(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features, layer int, nodes []int32) (*graph.Features, error) {
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
	if layer == 0 {
		if nodes == nil {
			return Product(x, values)
		}
		rows := &graph.Features{Rows: len(nodes), Cols: x.Cols}
		for k, v := range nodes {
			if v < 0 || int(v) >= x.Rows {
				return nil, fmt.Errorf("study: node %d of the list is %d, outside [0, %d)", k, v, x.Rows)
			}
			rows.Data = append(rows.Data, x.Row(int(v))...)
		}
		return Product(rows, values)
	}
	h, width, err := m.InferHidden(ctx, p, x, nodes, layer)
	if err != nil {
		return nil, err
	}
	return Product(&graph.Features{Rows: len(h) / width, Cols: width, Data: h}, values)
}

// ModelNorms returns ‖(HW)_[i]‖ of every node and convolution of a trained
// model, with HW of Products. It holds one layer's product in memory at a time.
func ModelNorms(ctx context.Context, m *layers.GCN, p *graph.Laplacian, x *graph.Features) ([]LayerNorms, error) {
	var all []LayerNorms
	err := Products(ctx, m, p, x, func(layer int, hw *graph.Features) error {
		all = append(all, LayerNorms{Name: fmt.Sprintf("layer %d", layer+1), Norms: RowNorms(hw)})
		return nil
	})
	return all, err
}
