package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Jumping is the way in which the classifier reads the outputs of all convolutions, and not
// of the last one alone: jumping knowledge (Xu et al. 2018, arXiv:1806.03536).
type Jumping uint8

const (
	JumpingNone   Jumping = iota
	JumpingConcat         // the outputs side by side
	JumpingSum            // their sum
	JumpingMax            // the largest value of each column
)

// JumpingNames returns the names of the values in a run's config.json, in their order.
func JumpingNames() []string { return []string{"none", "concat", "sum", "max"} }

// jump adds the part of the logits from h, the output of convolution l, to below, the part
// from the convolutions below it. l is not the last convolution. A classifier over rows side by
// side is a sum of linear maps, so the rows need not be copied side by side. With JumpingMax it
// returns the largest outputs up to h.
func (m *GCN) jump(below, h *G.Node, l int, slot *ops.Slot, outputs int, o GCNOptions, start ParameterOptions) (_ *G.Node, err error) {
	if o.Jumping == JumpingMax {
		return largest(h, below, slot)
	}
	w := m.Classifier.W
	if o.Jumping == JumpingConcat {
		if w, _, err = newParameters(m.Batch.Graph(), fmt.Sprintf("jump%d", l), o.Hidden, outputs, false, start); err != nil {
			return nil, err
		}
	}
	m.Jumps = append(m.Jumps, w)
	if h, err = ops.Dropout(h, o.ClassifierDropout, m.Batch.Mode()); err != nil {
		return nil, err
	}
	z, err := ops.MatMul(h, w)
	if err != nil {
		return nil, err
	}
	return addOwn(z, below, slot)
}

// addOwn adds to z the rows of below that belong to the slot's output nodes. below may be nil.
func addOwn(z, below *G.Node, slot *ops.Slot) (*G.Node, error) {
	if below == nil {
		return z, nil
	}
	own, err := ops.OwnRows(slot, below)
	if err != nil {
		return nil, err
	}
	return ops.Add(z, own)
}

// largest returns the larger of h and the rows of below that belong to the slot's output nodes.
// below may be nil.
func largest(h, below *G.Node, slot *ops.Slot) (*G.Node, error) {
	if below == nil {
		return h, nil
	}
	own, err := ops.OwnRows(slot, below)
	if err != nil {
		return nil, err
	}
	return ops.Max(own, h)
}
