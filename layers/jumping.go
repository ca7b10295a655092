package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Jumping names a law by which the classifier reads the outputs of all convolutions at its
// nodes, and not only the last one: jumping knowledge (Xu et al. 2018, arXiv:1806.03536).
type Jumping uint8

const (
	JumpingNone   Jumping = iota
	JumpingConcat         // the outputs side by side
	JumpingSum            // their sum
	JumpingMax            // the largest value of each column
)

// JumpingNames returns the names of the laws in a run's config.json, in the order of the
// values.
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
		m.Parameters = append(m.Parameters, w)
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

// jumps reports whether the classifier reads the output of the layer by jumping knowledge: it
// is not the last convolution.
func (l *inferenceLayer) jumps() bool { return l.jump != nil || l.largest }

// jump adds the part of the logits from h, the output of layer l, to the parts from below,
// or keeps the largest outputs.
func (r *inference) jump(l int, h plan.Rows, kept *keptRows) error {
	layer, outputs, top := r.model.layers[l], r.model.outputs, len(r.model.layers)-1
	if layer.largest {
		outputs = layer.out
	}
	rows := kept.rows[top]
	if err := r.Needed(rows, kept.whole(top)); err != nil {
		return err
	}
	sum, err := r.Scratch(plan.Jumped, len(rows)*outputs)
	if err != nil {
		return err
	}
	first := !r.jumped
	r.jumped = true
	shares := r.even(len(rows), layer.out)
	err = r.chunks(shares, layer.out, nil, func(part *inference, lo, n int) error {
		own, err := part.Own(h, lo, n)
		if err != nil {
			return err
		}
		to := sum.From(lo * outputs)
		switch {
		case layer.largest && first:
			return part.Activate(to, own, kernel.Identity, n, outputs)
		case layer.largest:
			return part.Max(to, own, n*outputs)
		}
		if first {
			return part.Affine(to, own, layer.on.jump, plan.Span{}, plan.Span{}, n, layer.out, outputs)
		}
		return part.Add(to, own, layer.on.jump, n, layer.out, outputs)
	})
	if err == nil {
		err = r.gather(sum.Host(), outputs, shares)
	}
	r.jumps = sum
	return err
}
