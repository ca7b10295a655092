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
)

// JumpingNames returns the names of the values in a run's config.json, in their order.
func JumpingNames() []string { return []string{"none", "concat", "sum"} }

// jump adds the part of the logits from h, the output of convolution l, to below, the part
// from the convolutions below it. l is not the last convolution. A classifier over rows side by
// side is a sum of linear maps, so the rows need not be copied side by side.
func (b *builder) jump(below, h *G.Node, l int) *G.Node {
	w := b.Classifier.W
	if b.o.Jumping == JumpingConcat {
		w = b.weight(fmt.Sprintf("jump%d", l), b.o.Hidden, b.y.Outputs())
	}
	h = b.node(ops.Dropout(h, b.o.ClassifierDropout, b.Batch.Mode()))
	return b.addOwn(b.node(ops.MatMul(h, w)), below, l)
}

// addOwn adds to z the rows of below that belong to the output nodes of convolution l. below may
// be nil.
func (b *builder) addOwn(z, below *G.Node, l int) *G.Node {
	if below == nil {
		return z
	}
	return b.node(ops.Add(z, b.node(ops.OwnRows(b.slots[l], below))))
}
