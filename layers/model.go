package layers

import (
	"context"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Model is an expression graph ready to be trained: the batch whose slots feed
// it, the loss, and what it predicts. NewGCN makes one; a constructor of your own
// fills in the fields. A struct that embeds a Model, as GCN does, can be trained
// as it is.
type Model struct {
	Batch  *Batch  // the slots, and the sampler that fills them; required
	Loss   *G.Node // scalar, float32; required
	Logits *G.Node // (output nodes, classes or tasks), float32; required

	// Parameters are moved by training: float32 tensors with a value, inputs of
	// the graph, with distinct names. Nil means every such input that Loss
	// depends on, in the order they joined the graph.
	Parameters G.Nodes

	// Inference computes logits over full neighbourhoods for evaluation, from
	// the values of Parameters. Nil means through the expression graph itself,
	// in chunks of nodes with all their neighbours: right for any model, but
	// slow and large where neighbourhoods are.
	Inference Inferencer

	// Device is where the model is trained and predicts; nil means the CPU. It
	// must stay open while the model is in use. The graph is built alike for
	// either.
	Device *ops.Device
}

// Parts returns m. It makes a struct that embeds a Model one that package train
// takes.
func (m *Model) Parts() *Model { return m }

// Inferencer computes a model's logits over full neighbourhoods: row i of the
// result, (len(nodes), outputs), belongs to nodes[i]. GCN is one.
type Inferencer interface {
	Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error)
}
