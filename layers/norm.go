package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Norm normalises a matrix and keeps its shape. LayerNorm and BatchNorm are Norms.
type Norm interface {
	// Forward maps x, of shape (n, width), to the same shape.
	Forward(x *G.Node) (*G.Node, error)

	// Averages returns running averages: see Model.Averages. nil: there are none.
	Averages() G.Nodes
}

// NormKind names a Norm.
type NormKind uint8

const (
	NormNone  NormKind = iota
	NormLayer          // LayerNorm
	NormBatch          // BatchNorm: of the columns, over the mini-batch's rows
)

// String returns the name of the type.
func (k NormKind) String() string {
	switch k {
	case NormNone:
		return "none"
	case NormLayer:
		return "LayerNorm"
	case NormBatch:
		return "BatchNorm"
	}
	return fmt.Sprintf("NormKind(%d)", uint8(k))
}

// newNorm adds a norm to g, or returns nil for NormNone.
func newNorm(kind NormKind, g *G.ExprGraph, name string, width int, mode *ops.Mode) (Norm, error) {
	switch kind {
	case NormNone:
		return nil, nil
	case NormLayer:
		return NewLayerNorm(g, name, width)
	case NormBatch:
		return NewBatchNorm(g, name, width, mode)
	}
	return nil, fmt.Errorf("layers: unknown norm %v", kind)
}
