package layers

import (
	"context"

	"github.com/gcn-layerwise/gcn/graph"
)

// Infer returns the logits of nodes (nil: all nodes) over full neighbourhoods:
// row i of the row-major result, (len(nodes), outputs), belongs to nodes[i].
func (m *GCN) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	return nil, nil
}
