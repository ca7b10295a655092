package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// Attention makes a GraphConv the graph attention layer of Veličković et al. (2018,
// arXiv:1710.10903):
//
//	out = dropout(activation(norm(A·(H·W) + 1⊗b)))
//
// Head h has k columns of H·W and coefficients A of its own, which ops.Attention computes
// over the current block. The bias is outside, as in the paper's program.
//
// A node attends with its own features, so a block must hold its output nodes among its
// input nodes. Full, Neighbor, Labor and Subgraph do so, and LayerWise with
// KeepSelf.
type Attention struct {
	Source *G.Node // (heads·k), scores of the attended nodes; required
	Target *G.Node // (heads·k), scores of the attending nodes; required
	Heads  int     // required

	Average bool    // mean of the heads, not their concatenation
	Plain   bool    // leave out the sampler's weights: see ops.AttentionOptions
	Dropout Dropout // of the coefficients
}

// NewGATConv adds the parameters name.weight, name.source, name.target and name.bias to g,
// and returns a GraphConv with an Attention over them. out is the width of its output: of
// all heads together, or of their mean with average. Weights are GlorotUniform if o.Init
// is nil, and the bias is 0. Set the other fields before Forward. The name must be new in
// the graph.
func NewGATConv(g *G.ExprGraph, name string, in, out, heads int, average bool, o ParameterOptions) (*GraphConv, error) {
	if heads < 1 || !average && out%heads != 0 {
		return nil, fmt.Errorf("layers: layer %q of width %d with %d heads: want a multiple of the heads",
			name, out, heads)
	}
	columns := out
	if average {
		columns *= heads
	}
	if o.Init == nil {
		o.Init = GlorotUniform
	}
	w, _, err := newParameters(g, name, in, columns, false, o)
	if err != nil {
		return nil, err
	}
	a := &Attention{Heads: heads, Average: average}
	for _, v := range []struct {
		name string
		node **G.Node
	}{{"source", &a.Source}, {"target", &a.Target}} {
		var values []float32
		if *v.node, values, err = newParameter(g, name+"."+v.name, columns); err != nil {
			return nil, err
		}
		width := columns / heads
		rng := o.generator(name + "." + v.name)
		for h := range heads {
			o.Init(rng, width, 1, values[h*width:(h+1)*width], nil)
		}
	}
	b, err := newVector(g, name+".bias", out, 0)
	return &GraphConv{W: w, B: b, Attention: a}, err
}

// attend is convolve of a layer with an Attention.
func (l *GraphConv) attend(c *chain, slot *ops.Slot, h *G.Node) *G.Node {
	if slot.KeepsHistory() {
		return c.node(nil, fmt.Errorf("layers: attention has no history of activations: the sampler is a method with a control variate, which needs P; take another method"))
	}
	z := c.node(ops.MatMul(h, l.W))
	a := l.Attention
	return c.node(ops.Attention(slot, z, a.Source, a.Target, l.B, ops.AttentionOptions{
		Heads: a.Heads, Average: a.Average, Plain: a.Plain,
		Dropout: a.Dropout.Rate, Mode: a.Dropout.Mode,
	}))
}
