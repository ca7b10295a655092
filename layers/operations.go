package layers

import (
	"context"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
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

	// InferOperations returns the number of operations of a call of Infer, in the same unit,
	// if an earlier call had the same nodes.
	InferOperations(p *graph.Laplacian, x *graph.Features, nodes []int32) (float64, error)

	// RefreshOperations returns the number of operations of a refresh of the histories; 0 if
	// there are none.
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
		in *= filledShare(m.x)
		sum += float64(len(batch.Inputs())) * (2*in*out + gatherCost*in + 2*activationCost*out)
		if m.Labels != nil {
			sum += 2 * float64(len(batch.Inputs())) * float64(m.Labels.Shape()[0]) * out
		}
	}
	for l, conv := range m.Convolutions {
		in, out := float64(conv.W.Shape()[0]), float64(conv.W.Shape()[1])
		if l == 0 && m.exact == nil && m.Input == nil {
			in *= filledShare(m.x)
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

// InferOperations implements OperationCounter.
func (m *GCN) InferOperations(p *graph.Laplacian, x *graph.Features, nodes []int32) (float64, error) {
	if p.Share != nil {
		return 0, fmt.Errorf("layers: several ranks hold the graph together: one alone cannot count the operations of an inference")
	}
	convolutions := len(m.Convolutions)
	rows, err := full.Rows(context.Background(), p, nodes, convolutions)
	if err != nil {
		return 0, err
	}
	sum := m.passOperations(p, x, rows, convolutions)
	if c := m.Classifier; c != nil {
		sum += float64(len(rows[convolutions-1])) * float64(c.W.Shape().TotalSize())
	}
	return sum, nil
}

// RefreshOperations implements OperationCounter.
func (m *GCN) RefreshOperations() (float64, error) {
	r := m.Batch.refresher
	if r == nil {
		return 0, nil
	}
	top := len(m.Convolutions) - 1
	sum := m.passOperations(r.p, r.x, r.rows, top)
	for l := 1; l <= top; l++ { // P·H; a hidden layer may need it too, and then computes it again
		sum += farSparseCost * entries(r.p, r.rows[l]) * float64(m.Convolutions[l].W.Shape()[0])
	}
	return sum, nil
}

// entries returns the number of entries of the given rows of P.
func entries(p *graph.Laplacian, rows []int32) float64 {
	n := 0
	for _, v := range rows {
		n += p.RowNNZ(int(v))
	}
	return float64(n)
}

// passOperations counts the operations of the input layer and of the first convolutions, at
// rows of each convolution.
func (m *GCN) passOperations(p *graph.Laplacian, x *graph.Features, rows [][]int32, convolutions int) float64 {
	var sum float64
	inputs, filled := float64(p.Nodes()), filledShare(x)
	if m.Input != nil {
		lists, _ := full.Rows(context.Background(), p, rows[0], 2)
		inputs = float64(len(lists[0]))
		in, out := float64(m.Input.W.Shape()[0]), float64(m.Input.W.Shape()[1])
		sum += inputs*in*filled*out + activationCost*inputs*out
		filled = 1
	}
	last := float64(len(rows[len(rows)-1]))
	for l, conv := range m.Convolutions[:convolutions] {
		in, columns := float64(conv.W.Shape()[0]), float64(conv.W.Shape()[1])
		count, nnz, out := float64(len(rows[l])), farSparseCost*entries(p, rows[l]), columns
		if a := conv.Attention; a != nil && a.Average {
			out /= float64(a.Heads)
		}
		reads := l == 0 && m.Input == nil
		exact := reads && conv.Attention == nil && (m.exact.of(p, x) || m.known.of(p, x))
		near := sparseCost / farSparseCost * nnz
		transform := conv.Attention != nil || !conv.biasAfter() && inputs*in*out+near*out < count*in*out+near*in
		switch {
		case !exact && transform:
			if reads {
				in *= filled
			}
			sum += inputs*in*out + nnz*out
		case reads && !exact && filled < 1:
			sum += min(count*in*out, near*in*filled*out)
		case reads: // P·X is kept
			sum += count * in * out
		default:
			sum += count*in*out + nnz*in
		}
		if l < len(m.Skips) {
			sum += float64(m.Skips[l].Shape().TotalSize()) * count
		}
		if l < len(m.Owns) {
			sum += count * in * out
		}
		if l < len(m.Jumps) {
			sum += float64(m.Jumps[l].Shape().TotalSize()) * last
		}
		if conv.OwnState != nil {
			sum += count * in * out
		}
		if conv.Second != nil {
			sum += count * out * out
		}
		sum += activationCost * count * out
		inputs = count
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
