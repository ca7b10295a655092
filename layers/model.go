package layers

import (
	"context"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Model is an expression graph with the batch that feeds it, its loss and its predictions.
// NewGCN makes one; your own constructor sets the fields. Package train takes a Model, or
// a struct that embeds one, such as GCN.
type Model struct {
	Batch  *Batch  // the slots, and the sampler that fills them; required
	Loss   *G.Node // scalar, float32; required
	Logits *G.Node // (output nodes, classes or tasks), float32; required

	// Parameters are the tensors that training changes: inputs of the graph,
	// float32, with a value, with distinct names. Nil means all such inputs that
	// Loss depends on, in the order of their addition to the graph.
	Parameters G.Nodes

	// Averages is the number of Parameters, the last ones, that are running averages, such as
	// of BatchNorm. A step moves them by a tenth of their distance to their gradients: the
	// optimiser does not change them. They are saved and exported as all parameters.
	Averages int

	// Inference computes logits over full neighbourhoods for evaluation, from the values of
	// Parameters. Nil means the expression graph itself, layer by layer, on the CPU. Logits
	// must then not read the labels, nor Gorgonia's own Dropout.
	Inference Inferencer

	// Ranks share the rows of Inference, if it is a GCN's and Device is nil. Nil means that
	// this process computes all. Training on several ranks sets it, and clears it at its end.
	Ranks Ranks

	// Refresher fills the histories of a control. Training calls it before the first
	// batch and every Options.ControlEvery batches or more. Nil means that there are none.
	Refresher *GCN

	// Device is the GPU for training and prediction; nil means the CPU. It must stay
	// open while the model is in use. The graph is the same for both.
	Device *ops.Device
}

// Parts returns m. A struct that embeds a Model has the method too, so package train
// takes it.
func (m *Model) Parts() *Model { return m }

// Inferencer computes a model's logits over full neighbourhoods. GCN is one.
type Inferencer interface {
	// Infer returns logits of shape (len(nodes), outputs), row-major; row i belongs to
	// nodes[i].
	Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error)
}
