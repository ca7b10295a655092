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

	// RefreshOperations returns the same of a refresh of the histories, 0 without any.
	RefreshOperations() (float64, error)
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
		in *= m.filled
		sum += float64(len(batch.Inputs())) * (2*in*out + gatherCost*in + 2*activationCost*out)
		if m.Labels != nil {
			sum += 2 * float64(len(batch.Inputs())) * float64(m.Labels.Shape()[0]) * out
		}
	}
	for l, conv := range m.Convolutions {
		in, out := float64(conv.W.Shape()[0]), float64(conv.W.Shape()[1])
		if l == 0 && m.exact == nil && m.Input == nil {
			in *= m.filled
		}
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
			if conv.linear != nil { // in is the width of W, of the convolution below
				features := float64(m.Convolutions[0].W.Shape()[0])
				sum += 2*rows*features*in + sparseCost*float64(b.Matrix.NNZ())*features
			}
		}
		if l < len(m.Skips) {
			sum += 2 * rows * float64(m.Skips[l].Shape()[0]) * out
		}
		if l < len(m.Owns) {
			sum += products * rows * in * out
		}
		if l < len(m.Jumps) {
			sum += 3 * rows * out * float64(m.Jumps[l].Shape()[1])
		}
		if conv.OwnState != nil {
			sum += products * rows * in * out
		}
		if conv.Second != nil {
			sum += 3*rows*out*out + activationCost*rows*out
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
	if err := memory.kept.use(context.Background(), p, nodes, len(model.layers)); err != nil {
		return 0, err
	}
	top := len(model.layers) - 1
	sum := model.operations(&memory.kept, top+1)
	if c := model.classifier; c != nil {
		sum += float64(len(memory.kept.rows[top])) * float64(c.in) * float64(c.out)
	}
	return sum, nil
}

// RefreshOperations implements OperationCounter.
func (m *GCN) RefreshOperations() (float64, error) {
	r := m.Batch.refresher
	if r == nil {
		return 0, nil
	}
	model, err := m.inference(r.p, r.x, nil)
	if err != nil {
		return 0, err
	}
	top := len(model.layers) - 1
	sum := model.operations(&r.kept, top)
	for l := 1; l <= top; l++ { // P·H; a hidden layer may need it too, and then computes it again
		for _, v := range r.kept.rows[l] {
			sum += farSparseCost * float64(r.p.RowNNZ(int(v))) * float64(model.layers[l].in)
		}
	}
	return sum, nil
}

// operations counts the operations of the first layers at the rows of kept.
func (m *inferenceModel) operations(kept *keptRows, layers int) float64 {
	var sum float64
	inputs, p := kept.p.Nodes(), kept.p
	for l, layer := range m.layers[:layers] {
		rows := kept.rows[l]
		count, in, out := float64(len(rows)), float64(layer.in), float64(layer.out)
		var nnz float64
		for _, v := range rows {
			nnz += farSparseCost * float64(p.RowNNZ(int(v)))
		}
		exact := l == 0 && m.exact != nil
		switch {
		case layer.dense:
			sum += count * in * m.filled * out
		case !exact && transformFirst(p, layer, inputs, rows):
			if l == 0 {
				in *= m.filled
			}
			sum += float64(inputs)*in*out + nnz*out
		case l == 0 && !exact && m.filled < 1:
			sum += min(count*in*out, sparseCost*nnz/farSparseCost*in*m.filled*out)
		case l == 0: // P·X is kept
			sum += count * in * out
		default:
			sum += count*in*out + nnz*in
		}
		if layer.skip != nil {
			sum += float64(len(layer.skip)) * count
		}
		if layer.own != nil {
			sum += count * in * out
		}
		if layer.jump != nil {
			sum += float64(len(layer.jump)) * float64(len(kept.rows[len(kept.rows)-1]))
		}
		if layer.state != nil {
			sum += count * in * out
		}
		if layer.second != nil {
			sum += count * out * out
		}
		sum += activationCost * count * out
		inputs = len(rows)
	}
	return sum
}

// filledShare returns the share of the values of x that are stored: 1 of dense features.
func filledShare(x *graph.Features) float64 {
	if x.Sparse == nil {
		return 1
	}
	return float64(x.Len()) / max(float64(x.Rows)*float64(x.Cols), 1)
}
