package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// NewNode is a node that the graph does not hold.
type NewNode struct {
	Features  []float32 // as many as the graph's nodes have
	Neighbors []int32   // nodes of the graph, each once; may be empty
	Weights   []float32 // of the edges to them; nil means 1
}

// InferNew returns the logits of a node that the graph does not hold, as if it were added to
// the graph with its edges: the result of Infer on that larger graph, up to rounding. p and x
// do not change. p must be of graph.NewLaplacian,
// graph.NewRowLaplacian or graph.NewDirectedLaplacian.
//
// It works on the CPU. Calls may run concurrently, and with Infer, while no parameter
// changes. Cost, in time and memory: the node's neighbourhood of as many edges as the model
// has convolutions, with its features.
func (m *GCN) InferNew(ctx context.Context, p *graph.Laplacian, x *graph.Features, node NewNode) ([]float32, error) {
	if ctx == nil {
		return nil, fmt.Errorf("layers: inference: the context is nil")
	}
	if _, err := m.inference(p, x, nil); err != nil {
		return nil, err
	}
	if len(node.Features) != x.Cols {
		return nil, fmt.Errorf("layers: inference: a new node of %d features, the graph's nodes have %d", len(node.Features), x.Cols)
	}
	for k, v := range node.Features {
		if v-v != 0 {
			return nil, fmt.Errorf("layers: inference: feature %d of the new node is %v", k, v)
		}
	}
	local, nodes, err := p.WithNode(node.Neighbors, node.Weights, len(m.Convolutions))
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	features := &graph.Features{Rows: len(nodes) + 1, Cols: x.Cols, Data: make([]float32, (len(nodes)+1)*x.Cols)}
	copy(features.Data, node.Features)
	if x.Prefetch != nil {
		x.Prefetch(nodes)
	}
	for k, v := range nodes {
		copy(features.Data[(k+1)*x.Cols:], x.Row(int(v)))
	}
	only := []int32{0}
	var labels *graph.Features
	if m.labels != nil {
		labels = m.labels.of(nodes)
	}
	model, err := m.inferenceOf(local, features, labels, only)
	if err != nil {
		return nil, err
	}
	return m.inferFew(ctx, model, nil, local, features, only)
}
