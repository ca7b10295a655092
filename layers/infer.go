package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
)

// Infer returns the logits of nodes (nil: all nodes) over full neighbourhoods with the
// current parameters, without dropout. The result is row-major, (len(nodes), outputs); row
// i belongs to nodes[i].
//
// It works outside the expression graph, on the model's device, layer by layer in chunks
// of rows. It computes only rows that the given nodes depend on. Nodes may be repeated; each
// occurrence has its row. Up to 256 nodes cost time for their neighbourhood, not for the
// graph.
//
// Memory beside the result: a few numbers a node; one chunk's intermediate rows; the output
// of one hidden layer, or of two if the model has more than two convolutions; and H·W of a
// whole layer if H·W is computed first. m.Bound bounds it. The memory is reused by the next
// call. A GPU copies the features and the Laplacian at the first call and keeps them until the
// device is closed.
//
// A further call for the same nodes, if they are more than 256 or nil, uses the list of rows
// and, on the CPU, P·X of the first call. P·X is not kept if X·W is computed first, if P·X
// takes more than an eighth of the memory, or if x is sparse. So p and x must not change
// between two calls. A model with exact input has P·X already.
//
// On the CPU the result has the same bits for any number of cores. The order of a layer's
// products depends on nodes, so a node's row may differ by rounding from its row among others.
// A GPU gives the same bits at each call, which agree with the CPU's up to rounding. On the
// CPU, calls may run concurrently while no parameter changes; each has memory of its own. ctx
// is checked at each chunk. An output that does not fit in memory is an error before it is
// allocated.
func (m *GCN) Infer(ctx context.Context, p *graph.Laplacian, x *graph.Features, nodes []int32) (logits []float32, err error) {
	if ctx == nil {
		return nil, fmt.Errorf("layers: inference: the context is nil")
	}
	model, err := m.inference(p, x, nodes)
	if err != nil {
		return nil, err
	}
	model.ranks = m.sharing()
	if few(p, x, nodes) {
		return m.inferFew(ctx, model, m.Device, p, x, nodes)
	}
	memory := m.takeMemory()
	defer m.memory.Store(memory)
	if err := memory.bound(m.Bound, p, m.Device); err != nil {
		return nil, err
	}
	defer func() {
		memory.Limit = 0 // refreshes have no bound
		if freed := memory.Free(); err == nil && freed != nil {
			logits, err = nil, fmt.Errorf("layers: inference: %w", freed)
		}
	}()
	k, err := plan.NewKernels(m.Device, p, &memory.InferenceMemory)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if err := memory.kept.use(ctx, p, nodes, len(model.layers)); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if m.Progress != nil && model.ranks == nil {
		model.progress = newInferenceProgress(m.Progress, memory.kept.rows)
	}
	return model.run(ctx, k, p, x, memory, m.Device == nil)
}

// inferFew is Infer for a few nodes, on a GPU or, if d is nil, on the CPU.
func (m *GCN) inferFew(ctx context.Context, model *inferenceModel, d *ops.Device, p *graph.Laplacian, x *graph.Features, nodes []int32) ([]float32, error) {
	memory := m.few.take()
	defer m.few.give(memory)
	k, err := plan.NewKernels(d, p, &memory.InferenceMemory)
	if err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	if err := memory.useFew(ctx, p, nodes, len(model.layers), d == nil && model.layers[0].attention != nil); err != nil {
		return nil, fmt.Errorf("layers: inference: %w", err)
	}
	return model.run(ctx, k, p, x, memory, d == nil)
}

// ReadPropagated makes Infer read P·X from e, which any number of models may share, in
// place of computing it. Training does not change: that is GCNOptions.ExactInput. nil undoes
// it. Attention, which has no use for P·X, ignores it. Where Infer would compute X·W first, as
// with more features than hidden units, the result differs by rounding.
func (m *GCN) ReadPropagated(e *ExactInput) { m.known = e }
