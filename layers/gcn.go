package layers

import (
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
// OwnState), skip0.weight (of Residual), jump0.weight, own0.weight (of HiddenResidual), …,
// input.weight, input.bias and labels.weight. The classifier's norm has the number after the
// last convolution's.
type GCN struct {
	Model // its Parameters are in the order of the layers

	Input        *Linear // nil: the first convolution reads the features
	Labels       *G.Node // with LabelInputs: a weight (outputs, width) of the input layer
	Convolutions []*GraphConv
	Skips        []*G.Node // with Residual: a weight (features, width) a convolution
	Owns         []*G.Node // with ResidualLinear: a weight (input, width) a convolution
	Jumps        []*G.Node // with Jumping: the classifier's weight for each convolution but the last
	Norm         Norm      // of the classifier's input; nil: none
	Classifier   *Linear   // nil: the output of the last convolution is the logits

	Bound InferenceBound // of Infer; it may change between two calls

	// Progress, if not nil, is called by an Infer of more than 256 nodes without Ranks: with 0
	// before the first layer, then from time to time with the number of rows done. total is
	// the number of rows of all layers. The calls of one Infer do not overlap.
	Progress func(done, total int)

	x        *graph.Features
	exact    *ExactInput // nil: the first convolution is sampled
	known    *ExactInput // P·X for inference; nil: not known
	labels   *labelInputs
	hidden   G.Nodes // outputs of the convolutions
	averages G.Nodes // of the norms

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
	if err := targets.Smooth(o.LabelSmoothing); err != nil {
		return nil, err
	}
	if err := targets.WeighClasses(o.ClassWeights); err != nil {
		return nil, err
	}
	slots, h, err := o.input(batch, x)
	if err != nil {
		return nil, err
	}
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
	start := ParameterOptions{Init: o.Init, Rand: rand.New(rand.NewPCG(o.Seed, 0))}
	dropout := Dropout{Rate: o.InputDropout, Mode: batch.Mode()}
	if !o.InputLayer {
		dropout.Reader = o.reader(slots, 0)
	}
	if h, err = dropout.Forward(h); err != nil {
		return nil, err
	}
	if o.InputLayer {
		if h, err = m.inputLayer(h, y, o.reader(slots, 0), o, start); err != nil {
			return nil, err
		}
	}
	if o.Jumping != JumpingNone {
		if m.Classifier, err = NewLinear(batch.Graph(), "classifier", o.Hidden, y.Outputs(), start); err != nil {
			return nil, err
		}
	}
	var jumped *G.Node // the logits' part from the convolutions below
	for l, slot := range slots {
		if l > 0 && o.Jumping != JumpingNone {
			if jumped, err = m.jump(jumped, h, l-1, slots[l-1], y.Outputs(), o, start); err != nil {
				return nil, fmt.Errorf("layers: convolution %d: %w", l-1, err)
			}
		}
		if h, err = m.convolution(batch, x, l, slot, o.reader(slots, l+1), h, o.convolution(l, len(slots), y.Outputs()), start); err != nil {
			return nil, fmt.Errorf("layers: convolution %d: %w", l, err)
		}
		m.hidden = append(m.hidden, h)
	}
	m.Logits = h
	if o.Jumping == JumpingMax {
		if h, err = largest(h, jumped, slots[len(slots)-1]); err != nil {
			return nil, err
		}
		jumped = nil
	}
	if o.Form == FormProgram {
		if err := m.classify(h, y.Outputs(), o, start); err != nil {
			return nil, err
		}
		if m.Logits, err = addOwn(m.Logits, jumped, slots[len(slots)-1]); err != nil {
			return nil, err
		}
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

// inputLayer adds the input layer over the features h. The slot reader reads its output.
func (m *GCN) inputLayer(h *G.Node, y *graph.Labels, reader *ops.Slot, o GCNOptions, start ParameterOptions) (_ *G.Node, err error) {
	if m.Input, err = NewLinear(m.Batch.Graph(), "input", h.Shape()[1], o.Hidden, start); err != nil {
		return nil, err
	}
	if h, err = m.Input.Forward(h); err != nil {
		return nil, err
	}
	if o.LabelInputs != nil {
		if h, err = m.addLabels(h, y, o, start); err != nil {
			return nil, err
		}
	}
	return Dropout{o.Dropout, m.Batch.Mode(), reader}.after(o.Activation, h)
}

// classify adds the classifier over h.
func (m *GCN) classify(h *G.Node, outputs int, o GCNOptions, start ParameterOptions) (err error) {
	if o.PreNorm {
		if m.Norm, err = m.newNorm(len(m.Convolutions), o.Hidden, o); err != nil {
			return err
		}
		if m.Norm != nil {
			if h, err = m.Norm.Forward(h); err != nil {
				return err
			}
		}
	}
	if o.ownClassifierDropout() {
		if h, err = ops.Dropout(h, o.ClassifierDropout, m.Batch.Mode()); err != nil {
			return err
		}
	}
	if m.Classifier == nil {
		if m.Classifier, err = NewLinear(m.Batch.Graph(), "classifier", o.Hidden, outputs, start); err != nil {
			return err
		}
	}
	m.Logits, err = m.Classifier.Forward(h)
	return err
}

// collect sets the parameters, from the nodes that were added to the graph for m. The classifier's
// come after those of the layers, and the averages last.
func (m *GCN) collect(added G.Nodes) {
	place := func(n *G.Node) int {
		switch c := m.Classifier; {
		case slices.Contains(m.averages, n):
			return 2
		case c != nil && (n == c.W || n == c.B):
			return 1
		}
		return 0
	}
	m.Parameters = slices.DeleteFunc(slices.Clone(added), func(n *G.Node) bool { return !n.IsVar() })
	slices.SortStableFunc(m.Parameters, func(a, b *G.Node) int { return place(a) - place(b) })
	m.Averages = len(m.averages)
}

// input returns the slots of the convolutions, and the matrix that the first one reads.
func (o GCNOptions) input(batch *Batch, x *graph.Features) ([]*ops.Slot, *G.Node, error) {
	e := o.ExactInput
	if e == nil {
		h, err := batch.Features(x)
		return batch.slots, h, err
	}
	if e.x != x {
		return nil, nil, fmt.Errorf("layers: exact input of other features than the model's")
	}
	if err := batch.useExactInput(e); err != nil {
		return nil, nil, err
	}
	h, err := batch.outputFeatures(e.px, 0, batch.input.Slot)
	return append([]*ops.Slot{batch.input.Slot}, batch.slots...), h, err
}

// convolution adds layer l over h and returns its output. reader is the slot that reads this
// output, or nil.
func (m *GCN) convolution(batch *Batch, x *graph.Features, l int, slot, reader *ops.Slot, h *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	g := batch.Graph()
	var norm Norm
	var err error
	if o.PreNorm && (l > 0 || m.Input != nil) {
		if norm, err = m.newNorm(l, h.Shape()[1], o); err != nil {
			return nil, err
		}
	}
	conv, err := o.newConvolution(g, fmt.Sprintf("conv%d", l), h.Shape()[1], start)
	if err != nil {
		return nil, err
	}
	conv.PreNorm, conv.Activation, conv.Order = norm, o.Activation, o.Order
	if conv.Attention != nil {
		conv.Attention.Plain, conv.Attention.Dropout = o.PlainAttention, Dropout{Rate: o.AttentionDropout, Mode: batch.Mode()}
	}
	conv.Dropout = Dropout{o.Dropout, batch.Mode(), reader}
	if o.OwnState {
		if conv.OwnState, _, err = newParameters(g, fmt.Sprintf("state%d", l), h.Shape()[1], o.Hidden, false, start); err != nil {
			return nil, err
		}
	}
	if !o.PreNorm {
		if conv.Norm, err = m.newNorm(l, o.Hidden, o); err != nil {
			return nil, err
		}
	}
	if o.FeedForward {
		if conv.Second, err = NewLinear(g, fmt.Sprintf("second%d", l), o.Hidden, o.Hidden, start); err != nil {
			return nil, err
		}
	}
	m.Convolutions = append(m.Convolutions, conv)
	if r := batch.refresher; r != nil && r.linear != nil {
		if l == 0 {
			r.linear.x, r.linear.w, r.linear.b = h, conv.W, conv.B
		} else {
			conv.linear = r.linear
		}
	}
	var z *G.Node
	if l == 0 && o.ExactInput != nil { // h is P·X
		z, err = conv.affine(h, slot)
	} else {
		z, err = conv.convolve(slot, h)
	}
	if err == nil && o.PreNorm {
		z, err = conv.finish(z)
	}
	if err != nil {
		return nil, err
	}
	if o.Residual {
		if z, err = m.skip(batch, x, l, slot, z, o, start); err != nil {
			return nil, err
		}
	}
	if z, err = m.own(batch, x, l, slot, h, z, o, start); err != nil || o.PreNorm {
		return z, err
	}
	return conv.finish(z)
}

// newNorm adds the parameters of norm l, or returns nil if there is none.
func (m *GCN) newNorm(l, width int, o GCNOptions) (Norm, error) {
	n, err := newNorm(o.Norm, m.Batch.Graph(), fmt.Sprintf("norm%d", l), width, m.Batch.Mode())
	if err == nil && n != nil {
		m.averages = append(m.averages, n.Averages()...)
	}
	return n, err
}

// newConvolution adds the parameters of a convolution.
func (o GCNOptions) newConvolution(g *G.ExprGraph, name string, in int, start ParameterOptions) (*GraphConv, error) {
	if o.Heads > 0 {
		return NewGATConv(g, name, in, o.Hidden, o.Heads, o.average, start)
	}
	w, b, err := newParameters(g, name, in, o.Hidden, o.Form == FormProgram || o.BiasAfter, start)
	return &GraphConv{W: w, B: b, BiasAfter: o.BiasAfter}, err
}
