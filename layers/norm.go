package layers

import (
	"fmt"

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
	names := [...]string{"none", "LayerNorm", "BatchNorm"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("NormKind(%d)", uint8(k))
}

// norm adds the parameters of norm l, or returns nil if there is none.
func (b *builder) norm(l, width int, o GCNOptions) (norm Norm) {
	g, name := b.Batch.Graph(), fmt.Sprintf("norm%d", l)
	var err error
	switch o.Norm {
	case NormNone:
		return nil
	case NormLayer:
		norm, err = NewLayerNorm(g, name, width)
	case NormBatch:
		norm, err = NewBatchNorm(g, name, width, b.Batch.Mode())
	default:
		err = fmt.Errorf("layers: unknown norm %v", o.Norm)
	}
	if b.node(nil, err); err != nil {
		return nil
	}
	b.averages = append(b.averages, norm.Averages()...)
	return norm
}
