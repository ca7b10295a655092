package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// InferHidden returns the output of a convolution, with norm and activation and without
// dropout, for nodes (nil: all nodes), and its number of columns. layer counts the
// convolutions from 1. The rest is as for Infer. A model of FormEquation has its logits at the
// last layer.
func (m *GCN) InferHidden(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32, layer int) ([]float32, int, error) {
	if layer < 1 || layer > len(m.Convolutions) {
		return nil, 0, fmt.Errorf("layers: inference: the model has the layers 1 to %d, not %d", len(m.Convolutions), layer)
	}
	below := &GCN{
		Model: Model{Device: m.Device, Ranks: m.Ranks},
		Input: m.Input, Labels: m.Labels, labels: m.labels, Convolutions: m.Convolutions[:layer], Skips: m.Skips, Owns: m.Owns, Bound: m.Bound, Progress: m.Progress,
		exact: m.exact, known: m.known, residual: m.residual, preNorm: m.preNorm,
	}
	values, err := below.Infer(ctx, p, x, nodes)
	if err != nil {
		return nil, 0, err
	}
	count := p.Nodes()
	if nodes != nil {
		count = len(nodes)
	}
	if count == 0 {
		return nil, 0, nil
	}
	return values, len(values) / count, nil
}
