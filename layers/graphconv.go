package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Order is the order of the two products of a graph convolution. Both give the
// same result up to rounding.
type Order uint8

const (
	OrderByCost    Order = iota // the cheaper one at the slot's nominal sizes
	PropagateFirst              // (P̃H)W
	TransformFirst              // P̃(HW)
)

// GraphConv is the graph convolution of Kipf & Welling (2017, arXiv:1609.02907):
//
//	out = dropout(activation(norm(P̃·(H·W + 1⊗b))))
//
// P̃ is the matrix of the current block. The bias is inside the propagation, as in the paper's
// program. With PreNorm the convolution reads the norm of H in place of H. With Second it is
// a feed-forward block: out is then dropout(out·V + 1⊗c). With OwnState, S·H·U is added to
// P̃·(H·W + 1⊗b), where S selects the rows of the output nodes. So a node's own row and its
// neighbours have different weights, as in GraphSAGE's concatenation (Hamilton et al. 2017,
// arXiv:1706.02216). A field with its zero value leaves out its part of the formula.
type GraphConv struct {
	W *G.Node // (in, out); required
	B *G.Node // (out); nil: no bias

	// BiasAfter adds the bias after the propagation, P̃·H·W + 1⊗b, as PyTorch Geometric and
	// DGL do. The products are then in the order (P̃H)W.
	BiasAfter bool

	Attention  *Attention     // in the place of P̃; nil: none
	PreNorm    *Norm          // of the input; nil: none
	OwnState   *G.Node        // U, (in, out), of the output nodes' own rows; nil: none
	Norm       *Norm          // nil: none
	Activation ops.Activation // zero: none
	Dropout    Dropout        // zero: none
	Second     *Linear        // nil: none
	Order      Order          // zero: by cost

	input  *G.Node        // H
	mixed  *G.Node        // P̃·H, with PropagateFirst
	linear *linearControl // nil: none
}

// NewGraphConv adds the parameters name.weight and name.bias to g. Set the other
// fields before Forward. The name must be new in the graph.
func NewGraphConv(g *G.ExprGraph, name string, in, out int, o ParameterOptions) (*GraphConv, error) {
	w, b, err := newParameters(g, name, in, out, true, o)
	return &GraphConv{W: w, B: b}, err
}

// Forward maps H, of shape (len(Src), in), to (len(Dst), out). Src and Dst are the input
// and output nodes of the slot's block.
func (l *GraphConv) Forward(slot *ops.Slot, h *G.Node) (*G.Node, error) {
	if l.W == nil || slot == nil || h == nil {
		return nil, fmt.Errorf("layers: GraphConv needs a weight, a slot and an input")
	}
	c := &chain{instead: h}
	z := l.finish(c, l.convolve(c, slot, h))
	return z, c.err
}

// convolve is the first half of Forward: P̃·(H·W + 1⊗b), or the attention, after PreNorm and
// with OwnState.
func (l *GraphConv) convolve(c *chain, slot *ops.Slot, h *G.Node) *G.Node {
	if l.PreNorm != nil {
		if slot.KeepsHistory() {
			return c.node(nil, fmt.Errorf("layers: GraphConv: a control variate keeps activations, and not their norms: leave out PreNorm (--pre-norm), or take a sampler without a control"))
		}
		h = c.node(l.PreNorm.Forward(h))
	}
	z := l.mix(c, slot, h)
	if l.OwnState == nil {
		return z
	}
	own := c.node(ops.OwnRows(slot, h))
	return c.node(ops.Add(z, c.node(ops.MatMul(own, l.OwnState))))
}

// mix returns P̃·(H·W + 1⊗b), or the attention.
func (l *GraphConv) mix(c *chain, slot *ops.Slot, h *G.Node) *G.Node {
	if l.Attention != nil {
		return l.attend(c, slot, h)
	}
	order := l.Order
	switch {
	case order > TransformFirst:
		return c.node(nil, fmt.Errorf("layers: GraphConv: unknown order %d of its products", order))
	case l.biasAfter(), slot.KeepsHistory(): // of H, since a history of HW would be stale in W too
		order = PropagateFirst
	case order == OrderByCost:
		order = cheaper(slot, l.W, ops.Constant(h))
	}
	if order == TransformFirst {
		return c.node(ops.Propagate(slot, c.node(ops.Affine(h, l.W, l.B, nil))))
	}
	z := c.node(ops.Propagate(slot, h))
	l.input, l.mixed = h, z
	if l.linear != nil {
		z = c.node(ops.AddLinearControl(l.linear.LinearControl,
			z, l.linear.x, l.linear.w, l.linear.b))
	}
	return c.node(l.affine(z, slot))
}

// biasAfter reports whether there is a bias that is added after the propagation by P̃.
func (l *GraphConv) biasAfter() bool { return l.BiasAfter && l.B != nil && l.Attention == nil }

// affine returns X·W with the bias, for X = P̃H.
func (l *GraphConv) affine(x *G.Node, slot *ops.Slot) (*G.Node, error) {
	if l.biasAfter() {
		slot = nil
	}
	return ops.Affine(x, l.W, l.B, slot)
}

// finish is the second half of Forward: norm, activation, dropout and the second layer.
func (l *GraphConv) finish(c *chain, z *G.Node) *G.Node {
	if l.Norm != nil {
		z = c.node(l.Norm.Forward(z))
	}
	z = c.node(l.Dropout.after(l.Activation, z))
	if l.Second == nil {
		return z
	}
	z = c.node(l.Second.Forward(z))
	return c.node(l.Dropout.Forward(z))
}

// nominalRowNNZ is the number of entries of a block's row: a guess, since no block is known yet.
const nominalRowNNZ = 8

// cheaper returns the order of lower cost, forward and backward, at the slot's nominal
// sizes. If H is constant, it has no gradient, and propagating first needs no copy of the
// features.
func cheaper(slot *ops.Slot, w *G.Node, constant bool) Order {
	d, s := slot.Nominal()
	in := float64(w.Shape()[0])
	out := float64(w.Shape()[1])
	dst := float64(d)
	src := float64(s)
	sparse := plan.SparseCost * nominalRowNNZ * dst
	products, passes := 3.0, 2.0 // forward, ∂W, ∂H; forward, ∂H
	if constant {
		products, passes = 2, 1
	}
	propagateFirst := products*dst*in*out + passes*sparse*in
	transformFirst := products*src*in*out + 2*sparse*out
	if constant {
		transformFirst += plan.GatherCost * src * in
	}
	if transformFirst < propagateFirst {
		return TransformFirst
	}
	return PropagateFirst
}
