package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// OperationCounter is an Inferencer that counts operations. Training uses the counts to
// choose how often it evaluates, because the time of a step must not change a result.
type OperationCounter interface {
	Inferencer

	// StepOperations returns about the number of operations of a training step on batch.
	// The unit is a multiply-add of a dense product; other operations count as the
	// multiply-adds that take as long.
	StepOperations(batch *samplers.MiniBatch) float64

	// InferOperations returns the same of a call of Infer that follows an earlier one
	// for the same nodes.
	InferOperations(p *graph.Laplacian, x *graph.Features, nodes []int32) (float64, error)
}

var _ OperationCounter = (*GCN)(nil)

// Costs in multiply-adds of a dense product, estimated from profiles on synth:arxiv.
const (
	farSparseCost  = 24 // one multiply-add of a sparse product over the whole graph
	activationCost = 24 // one value of norm, activation and dropout
	adamCost       = 16 // one parameter
)

// StepOperations implements OperationCounter.
func (m *GCN) StepOperations(batch *samplers.MiniBatch) float64 {
	var sum float64
	for _, p := range m.Parameters {
		sum += adamCost * float64(p.Shape().TotalSize())
	}
	blocks := batch.Blocks
	if m.Input != nil {
		in, out := float64(m.Input.W.Shape()[0]), float64(m.Input.W.Shape()[1])
		sum += float64(len(batch.Inputs())) * (2*in*out + gatherCost*in + 2*activationCost*out)
	}
	for l, conv := range m.Convolutions {
		in, out := float64(conv.W.Shape()[0]), float64(conv.W.Shape()[1])
		products, passes := 3.0, 2.0 // as in cheaper
		if l == 0 {
			products, passes = 2, 1
		}
		var rows float64
		if l == 0 && m.exact != nil {
			rows = float64(len(batch.Inputs()))
			sum += products*rows*in*out + gatherCost*rows*in
		} else {
			b := blocks[0]
			blocks = blocks[1:]
			rows = float64(len(b.Dst))
			nnz := sparseCost * float64(b.Matrix.NNZ())
			if b.Control != nil {
				nnz += farSparseCost * float64(b.Control.Matrix.NNZ())
			}
			if conv.order == TransformFirst {
				sum += products*float64(len(b.Src))*in*out + 2*nnz*out
			} else {
				sum += products*rows*in*out + passes*nnz*in
			}
		}
		if l < len(m.Skips) {
			sum += 2 * rows * float64(m.Skips[l].Shape()[0]) * out
		}
		if l < len(m.Owns) {
			sum += products * rows * in * out
		}
		sum += 2 * activationCost * rows * out
	}
	if m.Classifier == nil {
		return sum
	}
	w := m.Classifier.W.Shape()
	return sum + 3*float64(len(batch.Outputs()))*float64(w[0])*float64(w[1])
}

// InferOperations implements OperationCounter. It lists the rows that inference needs, and
// keeps the list for it.
func (m *GCN) InferOperations(p *graph.Laplacian, x *graph.Features, nodes []int32) (float64, error) {
	model, err := m.inference(p, x, nodes)
	if err != nil {
		return 0, err
	}
	memory := m.takeMemory()
	defer m.memory.Store(memory)
	if p.Share != nil {
		return 0, fmt.Errorf("layers: several ranks hold the graph together: one alone cannot count the operations of an inference")
	}
	if err := memory.kept.use(context.Background(), p, x, nodes, len(model.layers)); err != nil {
		return 0, err
	}
	var sum float64
	inputs := p.Nodes()
	for l, layer := range model.layers {
		rows := memory.kept.rows[l]
		count, in, out := float64(len(rows)), float64(layer.in), float64(layer.out)
		var nnz float64
		for _, v := range rows {
			nnz += farSparseCost * float64(p.RowNNZ(int(v)))
		}
		exact := l == 0 && model.exact != nil
		switch {
		case layer.dense:
			sum += count * in * out
		case !exact && transformFirst(p, layer, inputs, rows):
			sum += float64(inputs)*in*out + nnz*out
		case l == 0: // P·X is kept
			sum += count * in * out
		default:
			sum += count*in*out + nnz*in
		}
		if layer.skip != nil {
			sum += count * float64(x.Cols) * out
		}
		if layer.own != nil {
			sum += count * in * out
		}
		sum += activationCost * count * out
		inputs = len(rows)
	}
	c := model.classifier
	if c == nil {
		return sum, nil
	}
	return sum + float64(inputs)*float64(c.in)*float64(c.out), nil
}
