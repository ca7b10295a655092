package layers

import (
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// BatchNorm normalises each column to mean 0 and variance 1, then scales and shifts it (Ioffe
// & Szegedy 2015, arXiv:1502.03167). In training the moments are of the mini-batch's rows. In
// inference they are Mean and Variance, the running averages of these: see Model.Averages.
//
// With a sampled mini-batch the rows of a hidden layer are the nodes that the sampler drew,
// each with the same weight. The averages are then of these nodes, and not of the graph: a
// layer-wise sampler draws nodes of many neighbours more often.
type BatchNorm struct {
	Gain     *G.Node   // (width), 1 at first
	Shift    *G.Node   // (width), 0 at first
	Mean     *G.Node   // (width), a running average, 0 at first
	Variance *G.Node   // (width), a running average, 1 at first
	Mode     *ops.Mode // the batch's
}

// NewBatchNorm adds name.gain, name.shift, name.mean and name.variance to g. The name must be
// new in the graph.
func NewBatchNorm(g *G.ExprGraph, name string, width int, mode *ops.Mode) (*BatchNorm, error) {
	l := &BatchNorm{Mode: mode}
	for _, v := range []struct {
		name  string
		node  **G.Node
		value float32
	}{{"gain", &l.Gain, 1}, {"shift", &l.Shift, 0}, {"mean", &l.Mean, 0}, {"variance", &l.Variance, 1}} {
		var err error
		if *v.node, err = newVector(g, name+"."+v.name, width, v.value); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Forward maps x, of shape (n, width), to the same shape.
func (l *BatchNorm) Forward(x *G.Node) (*G.Node, error) {
	return ops.BatchNorm(x, l.Gain, l.Shift, l.Mean, l.Variance, l.Mode)
}

// Averages returns the mean and the variance.
func (l *BatchNorm) Averages() G.Nodes { return G.Nodes{l.Mean, l.Variance} }
