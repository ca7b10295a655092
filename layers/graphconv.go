package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Order is the order of the two products of a graph convolution. Both give the
// same result up to rounding.
type Order uint8

// The orders.
const (
	OrderByCost    Order = iota // whichever is cheaper at the slot's nominal sizes
	PropagateFirst              // (P̃H)W
	TransformFirst              // P̃(HW)
)

// GraphConv is the graph convolution of Kipf & Welling (2017,
// arXiv:1609.02907) with the bias of the paper's program:
//
//	out = dropout(act(norm(P̃·(H·W + 1⊗b))))
//
// where P̃ is the matrix of the current block. The zero values of the optional
// fields leave out what they stand for.
type GraphConv struct {
	W *G.Node // (in, out)
	B *G.Node // (out); nil: no bias

	Norm       *LayerNorm     // nil: none
	Activation ops.Activation // zero: none
	Dropout    Dropout        // zero: none
	Order      Order          // zero: by cost
}

// NewGraphConv adds the parameters name.weight and name.bias to g; set the
// other fields before Forward. The name must be new in the graph.
func NewGraphConv(g *G.ExprGraph, name string, in, out int, o ParameterOptions) (*GraphConv, error) {
	w, b, err := newParameters(g, name, in, out, true, o)
	if err != nil {
		return nil, err
	}
	return &GraphConv{W: w, B: b}, nil
}

// Forward maps H, of shape (len(Src), in), to (len(Dst), out), Src and Dst being
// the nodes of the slot's block.
func (l *GraphConv) Forward(slot *ops.Slot, h *G.Node) (*G.Node, error) {
	z, err := l.convolve(slot, h)
	if err != nil {
		return nil, err
	}
	if l.Norm != nil {
		if z, err = l.Norm.Forward(z); err != nil {
			return nil, err
		}
	}
	return ops.Activate(z, l.Activation, l.Dropout.Rate, l.Dropout.Mode)
}

func (l *GraphConv) convolve(slot *ops.Slot, h *G.Node) (*G.Node, error) {
	if l.W == nil || slot == nil || h == nil {
		return nil, fmt.Errorf("layers: GraphConv.Forward needs a weight, a slot and an input")
	}
	if l.order(slot, h) == TransformFirst {
		z, err := affine(h, l.W, l.B, nil)
		if err != nil {
			return nil, err
		}
		return ops.Propagate(slot, z)
	}
	z, err := ops.Propagate(slot, h)
	if err != nil {
		return nil, err
	}
	return affine(z, l.W, l.B, slot)
}

func affine(x, w, b *G.Node, slot *ops.Slot) (*G.Node, error) {
	if b == nil {
		return ops.MatMul(x, w)
	}
	return ops.Affine(x, w, b, slot)
}

func (l *GraphConv) order(slot *ops.Slot, h *G.Node) Order {
	return PropagateFirst
}

// Parameters returns the weight, the bias and what the norm has.
func (l *GraphConv) Parameters() G.Nodes {
	p := G.Nodes{l.W}
	if l.B != nil {
		p = append(p, l.B)
	}
	if l.Norm != nil {
		p = append(p, l.Norm.Parameters()...)
	}
	return p
}
