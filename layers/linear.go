package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Linear is the map X ↦ X·W + b.
type Linear struct {
	W *G.Node // (in, out)
	B *G.Node // (out)
}

// NewLinear adds the parameters name.weight and name.bias to g. The name must
// be new in the graph.
func NewLinear(g *G.ExprGraph, name string, in, out int, o ParameterOptions) (*Linear, error) {
	w, b, err := newParameters(g, name, in, out, true, o)
	return &Linear{W: w, B: b}, err
}

// Forward maps X, of shape (n, in), to (n, out).
func (l *Linear) Forward(x *G.Node) (*G.Node, error) {
	return ops.Affine(x, l.W, l.B, nil)
}
