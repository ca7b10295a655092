package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
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
func (m *GCN) own(batch *Batch, x *graph.Features, l int, slot *ops.Slot, h, z *G.Node, o GCNOptions, start ParameterOptions) (own *G.Node, err error) {
	in := h.Shape()[1]
	if o.HiddenResidual == ResidualNone || o.HiddenResidual == ResidualIdentity && in != o.Hidden {
		return z, nil
	}
	if l == 0 && m.Input == nil {
		own, err = batch.outputFeatures(x, l, slot)
	} else {
		own, err = ops.OwnRows(slot, h)
	}
	if err != nil {
		return nil, err
	}
	if o.HiddenResidual == ResidualLinear {
		w, _, err := newParameters(batch.Graph(), fmt.Sprintf("own%d", l), in, o.Hidden, false, start)
		if err != nil {
			return nil, err
		}
		m.Owns = append(m.Owns, w)
		if own, err = ops.MatMul(own, w); err != nil {
			return nil, err
		}
	}
	return ops.Add(z, own)
}

// skip adds a linear map of the output nodes' own features to z.
func (m *GCN) skip(batch *Batch, x *graph.Features, l int, slot *ops.Slot, z *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	w, _, err := newParameters(batch.Graph(), fmt.Sprintf("skip%d", l), x.Cols, o.Hidden, false, start)
	if err != nil {
		return nil, err
	}
	m.Skips = append(m.Skips, w)
	own, err := batch.outputFeatures(x, l, slot)
	if err != nil {
		return nil, err
	}
	s, err := ops.MatMul(own, w)
	if err != nil {
		return nil, err
	}
	return ops.Add(z, s)
}
