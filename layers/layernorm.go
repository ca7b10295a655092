package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LayerNorm normalises each row to mean 0 and variance 1, then scales and
// shifts its columns (Ba, Kiros & Hinton 2016, arXiv:1607.06450).
type LayerNorm struct {
	Gain  *G.Node // (width), 1 at first
	Shift *G.Node // (width), 0 at first
}

// NewLayerNorm adds the parameters name.gain and name.shift to g. The name must
// be new in the graph.
func NewLayerNorm(g *G.ExprGraph, name string, width int) (*LayerNorm, error) {
	if err := checkLayer(g, name, width, width); err != nil {
		return nil, err
	}
	ones := make([]float32, width)
	for j := range ones {
		ones[j] = 1
	}
	gain, err := newParameter(g, name+".gain", tensor.New(tensor.WithShape(width), tensor.WithBacking(ones)))
	if err != nil {
		return nil, err
	}
	shift, err := newParameter(g, name+".shift", tensor.New(tensor.WithShape(width), tensor.WithBacking(make([]float32, width))))
	if err != nil {
		return nil, err
	}
	return &LayerNorm{Gain: gain, Shift: shift}, nil
}

// Forward maps x, of shape (n, width), to the same shape.
func (l *LayerNorm) Forward(x *G.Node) (*G.Node, error) { return ops.LayerNorm(x, l.Gain, l.Shift) }

// Parameters returns the gain and the shift.
func (l *LayerNorm) Parameters() G.Nodes { return G.Nodes{l.Gain, l.Shift} }
