package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// NormKind names a kind of Norm.
type NormKind uint8

const (
	NormNone NormKind = iota

	// NormLayer normalises each row (Ba, Kiros & Hinton 2016, arXiv:1607.06450).
	NormLayer

	// NormBatch normalises each column over the rows of the mini-batch (Ioffe & Szegedy 2015,
	// arXiv:1502.03167). In inference the moments are running averages of these: see
	// Model.Averages.
	//
	// With a sampled mini-batch the rows of a hidden layer are the nodes that the sampler drew,
	// each with the same weight. The averages are then of these nodes, and not of the graph: a
	// layer-wise sampler draws nodes of many neighbours more often.
	NormBatch
)

// String returns the usual name.
func (k NormKind) String() string {
	names := [...]string{"none", "LayerNorm", "BatchNorm"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("NormKind(%d)", uint8(k))
}

// Norm normalises rows or columns to mean 0 and variance 1, then scales and shifts the columns.
type Norm struct {
	Gain  *G.Node // (width), 1 at first
	Shift *G.Node // (width), 0 at first

	// Of NormBatch, else nil:
	Mean     *G.Node   // (width), a running average, 0 at first
	Variance *G.Node   // (width), a running average, 1 at first
	Mode     *ops.Mode // the batch's
}

// NewNorm adds name.gain and name.shift to g, and for NormBatch name.mean and name.variance. The
// name must be new in the graph. mode is the batch's; only NormBatch needs it.
func NewNorm(g *G.ExprGraph, name string, kind NormKind, width int, mode *ops.Mode) (*Norm, error) {
	if kind != NormLayer && kind != NormBatch {
		return nil, fmt.Errorf("layers: unknown norm %v", kind)
	}
	var err error
	vector := func(suffix string, value float32) (n *G.Node) {
		if err == nil {
			n, err = newVector(g, name+suffix, width, value)
		}
		return n
	}
	l := &Norm{Gain: vector(".gain", 1), Shift: vector(".shift", 0)}
	if kind == NormBatch {
		l.Mean = vector(".mean", 0)
		l.Variance = vector(".variance", 1)
		l.Mode = mode
	}
	return l, err
}

// Forward maps x, of shape (n, width), to the same shape.
func (l *Norm) Forward(x *G.Node) (*G.Node, error) {
	if l.Mean == nil {
		return ops.LayerNorm(x, l.Gain, l.Shift)
	}
	return ops.BatchNorm(x, l.Gain, l.Shift, l.Mean, l.Variance, l.Mode)
}

// norm adds the parameters of norm l, or returns nil if there is none.
func (b *builder) norm(l, width int, o GCNOptions) *Norm {
	if o.Norm == NormNone {
		return nil
	}
	norm, err := NewNorm(b.Batch.Graph(), fmt.Sprintf("norm%d", l), o.Norm, width, b.Batch.Mode())
	if b.node(nil, err); err != nil {
		return nil
	}
	if norm.Mean != nil {
		b.averages = append(b.averages, norm.Mean, norm.Variance)
	}
	return norm
}
