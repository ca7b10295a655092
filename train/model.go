package train

import (
	"context"
	"errors"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
)

// ErrModelInUse is wrapped by errors about a model that is being trained.
var ErrModelInUse = errors.New("train: the model is being trained already")

var errIncomplete = errors.New("train: model lacks a batch, a loss or logits")

// Model is an expression graph ready to be trained: the batch whose slots feed
// it, what to minimise, and what to read out.
type Model struct {
	Batch  *layers.Batch // the slots, and the sampler that fills them; required
	Loss   *G.Node       // scalar, float32; required
	Logits *G.Node       // (output nodes, classes or tasks), float32; required

	// Parameters are what training moves: float32 tensors with a value, inputs
	// of the graph, with distinct names. Nil means every such input that Loss
	// depends on, in the order they joined the graph.
	Parameters G.Nodes

	// Inference computes logits over full neighbourhoods for evaluation, from
	// the values of Parameters. Nil means through the expression graph itself,
	// in chunks of nodes with all their neighbours: right for any model, but
	// slow and large where neighbourhoods are.
	Inference Inferencer

	// Device is where the model is trained and predicts; nil means the CPU. It
	// must stay open as long as programs of the model are in use. The graph is
	// built alike for either.
	Device *ops.Device
}

// lock claims the model for one training. It is for the caller to unlock m.Batch.
func (m *Model) lock() error {
	if m.Batch == nil {
		return errIncomplete
	}
	if !m.Batch.TryLock() {
		return ErrModelInUse
	}
	return nil
}

// Inferencer computes a model's logits over full neighbourhoods: row i of the
// result, (len(nodes), outputs), belongs to nodes[i]. layers.GCN is one.
type Inferencer interface {
	Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error)
}
