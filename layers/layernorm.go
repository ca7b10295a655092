package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
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
	gain, err := newVector(g, name+".gain", width, 1)
	if err != nil {
		return nil, err
	}
	shift, err := newVector(g, name+".shift", width, 0)
	return &LayerNorm{gain, shift}, err
}

// Forward maps x, of shape (n, width), to the same shape.
func (l *LayerNorm) Forward(x *G.Node) (*G.Node, error) { return ops.LayerNorm(x, l.Gain, l.Shift) }

// Averages returns nil.
func (l *LayerNorm) Averages() G.Nodes { return nil }
