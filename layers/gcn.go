package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/full"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// GCN is the paper's model over a sampler of L layers, or of L−1 with exact input; the
// paper's "2-layer GCN" has L = 2. FormProgram is L × [graph convolution with bias → ELU →
// dropout], another dropout and a linear classifier. FormEquation is
//
//	Z^(l+1) = P·H^(l)·W^(l),  H^(l) = dropout(ELU(Z^(l))):
//
// L convolutions without bias. The last one's Z has a column for each class or task and is
// the logits.
//
// With Heads, both are a GAT: attention takes the place of P, and all convolutions have a
// bias.
//
// The parameters are named conv0.weight, conv0.bias, …, classifier.weight and
// classifier.bias; with the options on, also conv0.source, conv0.target, norm0.gain,
// norm0.shift, norm0.mean, norm0.variance, second0.weight, second0.bias, state0.weight (of
// OwnState), skip0.weight (of Residual), own0.weight (of HiddenResidual), …,
// input.weight and input.bias. The classifier's norm has the number after the
// last convolution's.
type GCN struct {
	Model // its Parameters are in the order of the layers

	Input        *Linear // nil: the first convolution reads the features
	Convolutions []*GraphConv
	Norm         *Norm   // of the classifier's input; nil: none
	Classifier   *Linear // nil: the output of the last convolution is the logits

	Bound InferenceBound // of Infer; it may change between two calls

	// Progress, if not nil, is called by an Infer of more than 256 nodes without Ranks: with 0
	// before the first layer, then from time to time with the number of rows done. total is
	// the number of rows of all layers. The calls of one Infer do not overlap.
	Progress func(done, total int)

	x        *graph.Features
	exact    *ExactInput // nil: the first convolution is sampled
	known    *ExactInput // P·X for inference; nil: not known
	hidden   G.Nodes     // outputs of the convolutions
	averages G.Nodes     // of the norms

	full *full.Model // the logits over full neighbourhoods
}

// NewGCN builds over batch a model that predicts y from x, and its loss. If the batch has
// targets already, they must be y's. A model too large to be trained in the memory of this
// process is an error.
func NewGCN(batch *Batch, x *graph.Features, y *graph.Labels, o GCNOptions) (*GCN, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if batch == nil || x == nil || y == nil {
		return nil, fmt.Errorf("layers: GCN needs a batch, features and labels")
	}
	targets, err := batch.Targets(y)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(targets.Smooth(o.LabelSmoothing), targets.WeighClasses(o.ClassWeights)); err != nil {
		return nil, err
	}
	h, err := o.input(batch, x)
	if err != nil {
		return nil, err
	}
	slots := batch.all()
	if o.ExactInput == nil && slots[0].KeepsHistory() {
		return nil, fmt.Errorf("layers: the sampler keeps activations below its lowest layer: it needs a model with exact input")
	}
	if err := batch.useRefreshed(slots, x, o); err != nil {
		return nil, err
	}
	if o.ControlLinear && batch.refresher == nil {
		return nil, fmt.Errorf("layers: GCN with ControlLinear needs a sampler with ControlRefresh")
	}
	m := &GCN{Model: Model{Batch: batch}, x: x, exact: o.ExactInput}
	m.Inference = m
	if batch.refresher != nil {
		if o.InputLayer {
			return nil, fmt.Errorf("layers: GCN with an input layer and refreshed histories: the histories begin at the first convolution; leave one of them out")
		}
		m.Refresher = m
	}
	before := len(batch.Graph().AllNodes())
	b := &builder{
		GCN:   m,
		chain: chain{instead: h},
		o:     o,
		y:     y,
		slots: slots,
	}
	b.first = ParameterOptions{Init: o.Init, Rand: rand.New(rand.NewPCG(o.Seed, 0))}
	dropout := Dropout{Rate: o.InputDropout, Mode: batch.Mode()}
	if !o.InputLayer {
		dropout.Reader = o.reader(slots, 0)
	}
	h = b.node(dropout.Forward(h))
	if o.InputLayer {
		h = b.inputLayer(h)
	}
	if b.err != nil {
		return nil, b.err // of no convolution
	}
	for l := range slots {
		h = b.convolution(l, h)
		if b.err != nil {
			return nil, fmt.Errorf("layers: convolution %d: %w", l, b.err)
		}
		m.hidden = append(m.hidden, h)
	}
	m.Logits = h
	if o.Form == FormProgram {
		m.Logits = b.classify(h)
	}
	if b.err != nil {
		return nil, b.err
	}
	m.collect(batch.Graph().AllNodes()[before:])
	if batch.refresher != nil {
		if err := batch.refresher.compile(m); err != nil {
			return nil, err
		}
	}
	if m.full, err = batch.compile(m.Logits, len(slots)); err != nil {
		return nil, fmt.Errorf("layers: compiling the model for full neighbourhoods: %w", err)
	}
	m.Loss, err = ops.Loss(m.Logits, targets)
	return m, err
}

// chain is a chain of ops. After the first error it goes on with another node in the place of each
// result, so that a caller needs one check at its end.
type chain struct {
	instead *G.Node
	err     error // the first one
}

func (c *chain) node(n *G.Node, err error) *G.Node {
	if c.err == nil {
		c.err = err
	}
	if c.err != nil {
		return c.instead
	}
	return n
}

// builder builds a GCN.
type builder struct {
	*GCN
	chain
	o     GCNOptions
	y     *graph.Labels
	slots []*ops.Slot // of the convolutions
	first ParameterOptions
}

// weight adds the parameter name.weight.
func (b *builder) weight(name string, in, out int) *G.Node {
	w, _, err := newParameters(b.Batch.Graph(), name, in, out, false, b.first)
	return b.node(w, err)
}

// linear adds the parameters of a linear layer.
func (b *builder) linear(name string, in, out int) *Linear {
	w, bias, err := newParameters(b.Batch.Graph(), name, in, out, true, b.first)
	return &Linear{W: b.node(w, err), B: b.node(bias, err)}
}

// inputLayer adds the input layer over the features h.
func (b *builder) inputLayer(h *G.Node) *G.Node {
	b.Input = b.linear("input", h.Shape()[1], b.o.Hidden)
	h = b.node(b.Input.Forward(h))
	return b.node(Dropout{b.o.Dropout, b.Batch.Mode(), b.o.reader(b.slots, 0)}.after(b.o.Activation, h))
}

// classify adds the classifier over h.
func (b *builder) classify(h *G.Node) *G.Node {
	if b.o.PreNorm {
		if b.Norm = b.norm(len(b.Convolutions), b.o.Hidden, b.o); b.Norm != nil {
			h = b.node(b.Norm.Forward(h))
		}
		h = b.node(ops.Dropout(h, b.o.ClassifierDropout, b.Batch.Mode()))
	}
	b.Classifier = b.linear("classifier", b.o.Hidden, b.y.Outputs())
	return b.node(b.Classifier.Forward(h))
}

// collect sets the parameters, from the nodes that were added to the graph for m. Their order is:
// the layers' parameters, the classifier's parameters, the averages.
func (m *GCN) collect(added G.Nodes) {
	m.Parameters = slices.DeleteFunc(slices.Clone(added), func(n *G.Node) bool { return !n.IsVar() || slices.Contains(m.averages, n) })
	m.Parameters = append(m.Parameters, m.averages...)
	m.Averages = len(m.averages)
}

// input returns the matrix that the first convolution reads.
func (o GCNOptions) input(batch *Batch, x *graph.Features) (*G.Node, error) {
	e := o.ExactInput
	if e == nil {
		return batch.Features(x)
	}
	if e.x != x {
		return nil, fmt.Errorf("layers: exact input of other features than the model's")
	}
	if batch.err != nil {
		return nil, batch.err
	}
	_, rows := batch.slots[0].Nominal()
	batch.input = &inputSlot{Slot: ops.NewSlot(rows, rows), exact: e}
	return batch.outputFeatures(e.px, batch.input.Slot)
}

// convolution adds layer l over h and returns its output.
func (b *builder) convolution(l int, h *G.Node) *G.Node {
	in := h.Shape()[1]
	batch := b.Batch
	slot := b.slots[l]
	o := b.o.convolution(l, len(b.slots), b.y.Outputs())
	var norm *Norm
	if o.PreNorm && (l > 0 || b.Input != nil) {
		norm = b.norm(l, in, o)
	}
	conv, err := o.newConvolution(batch.Graph(), fmt.Sprintf("conv%d", l), in, b.first)
	if err != nil {
		return b.node(nil, err)
	}
	conv.PreNorm, conv.Activation, conv.Order = norm, o.Activation, o.Order
	conv.Dropout = Dropout{o.Dropout, batch.Mode(), o.reader(b.slots, l+1)}
	if conv.Attention != nil {
		conv.Attention.Plain = o.PlainAttention
		conv.Attention.Dropout = Dropout{Rate: o.AttentionDropout, Mode: batch.Mode()}
	}
	if o.OwnState {
		conv.OwnState = b.weight(fmt.Sprintf("state%d", l), in, o.Hidden)
	}
	if !o.PreNorm {
		conv.Norm = b.norm(l, o.Hidden, o)
	}
	if o.FeedForward {
		conv.Second = b.linear(fmt.Sprintf("second%d", l), o.Hidden, o.Hidden)
	}
	b.Convolutions = append(b.Convolutions, conv)
	if r := batch.refresher; r != nil && r.linear != nil {
		if l == 0 {
			r.linear.x = h
			r.linear.w = conv.W
			r.linear.b = conv.B
		} else {
			conv.linear = r.linear
		}
	}
	var z *G.Node
	if l == 0 && o.ExactInput != nil { // h is P·X
		z = b.node(conv.affine(h, slot))
	} else {
		z = conv.convolve(&b.chain, slot, h)
	}
	if o.PreNorm {
		z = conv.finish(&b.chain, z)
	}
	if o.Residual {
		z = b.skip(l, z, o)
	}
	z = b.own(l, h, z, o)
	if o.PreNorm {
		return z
	}
	return conv.finish(&b.chain, z)
}

// newConvolution adds the parameters of a convolution.
func (o GCNOptions) newConvolution(g *G.ExprGraph, name string, in int, start ParameterOptions) (*GraphConv, error) {
	if o.Heads > 0 {
		return NewGATConv(g, name, in, o.Hidden, o.Heads, o.average, start)
	}
	w, b, err := newParameters(g, name, in, o.Hidden, o.Form == FormProgram || o.BiasAfter, start)
	return &GraphConv{W: w, B: b, BiasAfter: o.BiasAfter}, err
}
