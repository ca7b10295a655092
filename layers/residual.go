package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Residual names a residual connection around a convolution, from the rows of its input
// that belong to its output nodes.
type Residual uint8

const (
	ResidualNone     Residual = iota
	ResidualIdentity          // the rows as they are, where input and output are equally wide (He et al. 2016)
	ResidualLinear            // a linear map of them, as of the own state in GraphSAGE (Hamilton et al. 2017)
)

// ResidualNames returns the names of the residual connections in a run's config.json, in the
// order of the values.
func ResidualNames() []string { return []string{"none", "identity", "linear"} }

// own adds the hidden residual of convolution l, from its input h, to z.
func (b *builder) own(l int, h, z *G.Node, o GCNOptions) *G.Node {
	in := h.Shape()[1]
	if o.HiddenResidual == ResidualNone || o.HiddenResidual == ResidualIdentity && in != o.Hidden {
		return z
	}
	var own *G.Node
	if l == 0 && b.Input == nil {
		own = b.node(b.Batch.outputFeatures(b.x, b.slots[l]))
	} else {
		own = b.node(ops.OwnRows(b.slots[l], h))
	}
	if o.HiddenResidual == ResidualLinear {
		own = b.node(ops.MatMul(own, b.weight(fmt.Sprintf("own%d", l), in, o.Hidden)))
	}
	return b.node(ops.Add(z, own))
}

// skip adds a linear map of the output nodes' own features to z.
func (b *builder) skip(l int, z *G.Node, o GCNOptions) *G.Node {
	w := b.weight(fmt.Sprintf("skip%d", l), b.x.Cols, o.Hidden)
	own := b.node(b.Batch.outputFeatures(b.x, b.slots[l]))
	return b.node(ops.Add(z, b.node(ops.MatMul(own, w))))
}
