package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// NoDropout is a rate that turns dropout off where 0 means a default. Any negative rate
// does the same.
const NoDropout = -1.0

// Form tells the two forms of the paper's model apart; docs/paper.md compares them.
type Form uint8

const (
	FormProgram  Form = iota // of the program released with the paper
	FormEquation             // of the paper's equation 1
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

// GCNOptions are the options of a GCN. The zero value is the model of the program
// released with the paper.
type GCNOptions struct {
	Form       Form
	Hidden     int            // width of each hidden layer; 0 means 256
	Activation ops.Activation // of each hidden layer; zero means ELU
	Dropout    float64        // after each activation; 0 means 0.2, NoDropout means none

	// ClassifierDropout is the rate of a further dropout before the classifier; 0
	// means 0.2, NoDropout means none. FormEquation has no classifier, and no such
	// rate.
	ClassifierDropout float64

	LayerNorm bool // normalise before each activation

	// BatchNorm normalises the columns over the mini-batch's rows, in the place of LayerNorm:
	// see the type BatchNorm.
	BatchNorm bool

	// PreNorm is the other order of a residual block (Xiong et al. 2020, arXiv:2002.04745):
	// the norm is of the input of each convolution and of the classifier, and residual
	// connections are added last, after the activation and the dropout. Features are not
	// normalised: the first convolution without InputLayer reads them as they are. It is
	// for FormProgram, and excludes a control variate.
	PreNorm bool

	// OwnState adds a linear map of the output nodes' own rows of each convolution's input,
	// after PreNorm, to the propagated rows: GraphSAGE's concatenation. It needs
	// InputLayer. Without PreNorm it is the same map as ResidualLinear. Output nodes must be among the
	// input nodes, as for HiddenResidual.
	OwnState bool

	// Jumping makes the classifier read the outputs of all convolutions. It is for
	// FormProgram without PreNorm. The output nodes of each convolution but the first must be
	// among its input nodes, as for HiddenResidual.
	Jumping Jumping

	// FeedForward gives each convolution a second linear layer after its activation, with
	// a dropout, as Platonov et al. (2023, arXiv:2302.11640). It needs PreNorm.
	FeedForward bool

	// Heads makes each convolution an attention of so many heads, whose outputs are
	// concatenated; Hidden must be a multiple of them. 0 means P̃. The last
	// convolution of FormEquation has OutputHeads instead, and takes their mean.
	Heads, OutputHeads int     // of OutputHeads 0 means 1
	AttentionDropout   float64 // of the coefficients; 0 means none
	PlainAttention     bool    // leave out the sampler's weights: see ops.AttentionOptions

	// BiasAfter adds the biases of the convolutions after the propagation, as PyTorch
	// Geometric and DGL do: P·(H·W) + 1⊗b. FormEquation, which has no biases otherwise, then
	// has them too.
	BiasAfter bool

	InputDropout float64 // of the features, except for Residual; 0 means none

	// Residual adds a linear map of the output nodes' own features to each
	// convolution. It uses the features, since a sampled layer's output nodes need
	// not be among its input nodes.
	Residual bool

	// HiddenResidual is a residual connection from each convolution's own input. Its
	// output nodes must be among its input nodes: see ops.OwnRows. The first
	// convolution without InputLayer reads features: ResidualIdentity leaves it out
	// unless Hidden is their width.
	HiddenResidual Residual

	// InputLayer puts a linear layer, the activation and Dropout between the features
	// and the first convolution. It excludes ExactInput and refreshed histories.
	InputLayer bool

	// LabelInputs, if not nil, makes labels of training nodes inputs of the InputLayer, which
	// it needs. It excludes histories.
	LabelInputs *LabelInputs

	// LabelSmoothing and ClassWeights change the loss: see ops.Targets.
	LabelSmoothing float64
	ClassWeights   []float32 // of each class; nil means all 1

	// ExactInput, if not nil, is P·X of the features. The first convolution is then a
	// dense layer on its rows, and the batch's sampler draws the blocks of the
	// convolutions above: the model has one convolution more than the sampler has
	// layers. Parameters and inference are the same as without it. It excludes Heads and
	// InputDropout.
	ExactInput *ExactInput

	// ControlHalf keeps the histories of samplers.ControlRefresh in half precision: half
	// the memory. P·H̄ is not P times the rounded H̄, so the estimate is unbiased only up to
	// a rounding of 2⁻¹¹. A GPU keeps them in single precision only: it is then an error of
	// the first run.
	ControlHalf bool

	// ControlLinear adds the linear part of samplers.ControlRefresh: see ops.AddLinearControl.
	// It lowers the variance of the gradient of the first convolution's weight, and of the
	// estimate. The model must have exact input, two convolutions, ELU or ReLU, and none of
	// LayerNorm, BatchNorm, Residual, HiddenResidual and Jumping. Memory: 4 bytes for each
	// training node and feature, for P·(P·X), which the first Refresh computes.
	ControlLinear bool

	Order Order // order of the products in training; zero means by cost

	Init Initialiser // nil means PyTorch, and GlorotUniform for attention
	Seed uint64      // of the parameters' first values

	average bool // the mean of the heads
}

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

	// Progress, if not nil, is called by Infer of more than 256 nodes in one process: with 0
	// before the first layer, then now and then with the number of rows of all layers done.
	Progress func(done, total int)

	exact    *ExactInput // nil: the first convolution is sampled
	known    *ExactInput // P·X for inference; nil: not known
	labels   *labelInputs
	residual Residual
	largest  bool    // JumpingMax
	preNorm  bool    // residuals are added last
	filled   float64 // share of the features that is stored

	averages G.Nodes // of the norms

	memory atomic.Pointer[inferenceMemory] // of the last inference; nil while one uses it
	few    freeMemories                    // of inferences for a few nodes
}

// NewGCN builds over batch a model that predicts y from x, and its loss. If the batch has
// targets already, they must be y's. A model too large to be trained in the memory of this
// process is an error before anything is allocated.
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
	if err := o.checkMemory(len(slots), x.Cols, y.Outputs()); err != nil {
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
	m := &GCN{Model: Model{Batch: batch}, exact: o.ExactInput, residual: o.HiddenResidual, largest: o.Jumping == JumpingMax, preNorm: o.PreNorm, filled: filledShare(x)}
	m.Inference = m
	if batch.refresher != nil {
		if o.InputLayer {
			return nil, fmt.Errorf("layers: GCN with an input layer and refreshed histories: the histories begin at the first convolution; leave one of them out")
		}
		m.Refresher = m
	}
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
	m.Parameters, m.Averages = append(m.Parameters, m.averages...), len(m.averages)
	if batch.refresher != nil {
		batch.refresher.params = make([]float32, m.size())
	}
	m.Loss, err = ops.Loss(m.Logits, targets)
	return m, err
}

// reader returns the slot of convolution l if dropout makes the convolution's input, nothing
// else stands between, and neither jumping knowledge nor an own state reads it; or nil.
func (o GCNOptions) reader(slots []*ops.Slot, l int) *ops.Slot {
	if l == len(slots) || o.OwnState || l > 0 && o.Jumping != JumpingNone || o.PreNorm && (l > 0 || o.InputLayer) {
		return nil
	}
	return slots[l]
}

// convolution returns the options of convolution l. The last one of FormProgram also drops
// for the classifier; the last one of FormEquation gives the logits.
func (o GCNOptions) convolution(l, layers, outputs int) GCNOptions {
	if o.Form == FormProgram && l == layers-1 && o.ClassifierDropout > 0 && !o.ownClassifierDropout() {
		// Two dropouts in a row have the law of one with this rate, at twice the time.
		o.Dropout = 1 - (1-o.Dropout)*(1-o.ClassifierDropout)
	}
	if o.Form == FormEquation && l == layers-1 {
		o.Hidden, o.Activation, o.Dropout, o.LayerNorm, o.BatchNorm = outputs, ops.ActivationNone, 0, false, false
		if o.Heads > 0 {
			o.Heads, o.average = o.OutputHeads, true
		}
	}
	return o
}

// ownClassifierDropout reports whether the classifier has a dropout op of its own. Otherwise
// the last convolution's dropout stands for both: see convolution.
func (o GCNOptions) ownClassifierDropout() bool { return o.PreNorm || o.Jumping != JumpingNone }

// inputLayer adds the input layer over the features h. The slot reader reads its output.
func (m *GCN) inputLayer(h *G.Node, y *graph.Labels, reader *ops.Slot, o GCNOptions, start ParameterOptions) (_ *G.Node, err error) {
	if m.Input, err = NewLinear(m.Batch.Graph(), "input", h.Shape()[1], o.Hidden, start); err != nil {
		return nil, err
	}
	m.Parameters = append(m.Parameters, m.Input.Parameters()...)
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
			m.Parameters = append(m.Parameters, m.Norm.Parameters()...)
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
	m.Parameters = append(m.Parameters, m.Classifier.Parameters()...)
	m.Logits, err = m.Classifier.Forward(h)
	return err
}

// size returns the number of values of all parameters.
func (m *GCN) size() int {
	n := 0
	for _, p := range m.Parameters {
		n += p.Shape().TotalSize()
	}
	return n
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
	h, err := ops.OutputFeatures(batch.Graph(), e.px, batch.input.Slot)
	return append([]*ops.Slot{batch.input.Slot}, batch.slots...), h, err
}

// convolution adds layer l over h and returns its output. reader is the slot that reads this
// output, or nil.
func (m *GCN) convolution(batch *Batch, x *graph.Features, l int, slot, reader *ops.Slot, h *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	g := batch.Graph()
	conv, err := o.newConvolution(g, fmt.Sprintf("conv%d", l), h.Shape()[1], start)
	if err != nil {
		return nil, err
	}
	conv.Activation, conv.Order = o.Activation, o.Order
	if conv.Attention != nil {
		conv.Attention.Plain, conv.Attention.Dropout = o.PlainAttention, Dropout{Rate: o.AttentionDropout, Mode: batch.Mode()}
	}
	conv.Dropout = Dropout{o.Dropout, batch.Mode(), reader}
	switch {
	case !o.PreNorm:
		conv.Norm, err = m.newNorm(l, o.Hidden, o)
	case l > 0 || m.Input != nil:
		conv.PreNorm, err = m.newNorm(l, h.Shape()[1], o)
	}
	if err != nil {
		return nil, err
	}
	if o.OwnState {
		if conv.OwnState, _, err = newParameters(g, fmt.Sprintf("state%d", l), h.Shape()[1], o.Hidden, false, start); err != nil {
			return nil, err
		}
	}
	if o.FeedForward {
		if conv.Second, err = NewLinear(g, fmt.Sprintf("second%d", l), o.Hidden, o.Hidden, start); err != nil {
			return nil, err
		}
	}
	m.Convolutions = append(m.Convolutions, conv)
	m.Parameters = append(m.Parameters, conv.Parameters()...)
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
	g, name := m.Batch.Graph(), fmt.Sprintf("norm%d", l)
	switch {
	case o.BatchNorm:
		n, err := NewBatchNorm(g, name, width, m.Batch.Mode())
		if err == nil {
			m.averages = append(m.averages, n.Mean, n.Variance)
		}
		return n, err
	case o.LayerNorm:
		return NewLayerNorm(g, name, width)
	}
	return nil, nil
}

// own adds the hidden residual of convolution l, from its input h, to z.
func (m *GCN) own(batch *Batch, x *graph.Features, l int, slot *ops.Slot, h, z *G.Node, o GCNOptions, start ParameterOptions) (own *G.Node, err error) {
	in := h.Shape()[1]
	if o.HiddenResidual == ResidualNone || o.HiddenResidual == ResidualIdentity && in != o.Hidden {
		return z, nil
	}
	if l == 0 && m.Input == nil {
		batch.skips = append(batch.skips, x)
		own, err = ops.OutputFeatures(batch.Graph(), x, slot)
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
		m.Parameters = append(m.Parameters, w)
		if own, err = ops.MatMul(own, w); err != nil {
			return nil, err
		}
	}
	return ops.Add(z, own)
}

// newConvolution adds the parameters of a convolution.
func (o GCNOptions) newConvolution(g *G.ExprGraph, name string, in int, start ParameterOptions) (*GraphConv, error) {
	if o.Heads > 0 {
		return NewGATConv(g, name, in, o.Hidden, o.Heads, o.average, start)
	}
	w, b, err := newParameters(g, name, in, o.Hidden, o.Form == FormProgram || o.BiasAfter, start)
	return &GraphConv{W: w, B: b, BiasAfter: o.BiasAfter}, err
}

// skip adds a linear map of the output nodes' own features to z.
func (m *GCN) skip(batch *Batch, x *graph.Features, l int, slot *ops.Slot, z *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	w, _, err := newParameters(batch.Graph(), fmt.Sprintf("skip%d", l), x.Cols, o.Hidden, false, start)
	if err != nil {
		return nil, err
	}
	m.Skips = append(m.Skips, w)
	m.Parameters = append(m.Parameters, w)
	if l == 0 {
		batch.skips = append(batch.skips, x)
	}
	own, err := ops.OutputFeatures(batch.Graph(), x, slot)
	if err != nil {
		return nil, err
	}
	s, err := ops.MatMul(own, w)
	if err != nil {
		return nil, err
	}
	return ops.Add(z, s)
}

// checkMemory reports a model that is too large to be trained here.
func (o GCNOptions) checkMemory(convolutions, features, outputs int) error {
	// In float64, where nothing overflows.
	values, width := 0.0, float64(features)
	if o.InputLayer {
		values, width = (width+1)*float64(o.Hidden), float64(o.Hidden)
		if o.LabelInputs != nil {
			values += float64(outputs) * width
		}
	}
	for l := range convolutions {
		layer := o.convolution(l, convolutions, outputs)
		each := width // values for each column of the output
		if layer.Form == FormProgram || layer.BiasAfter || layer.Heads > 0 {
			each++
		}
		if layer.Heads > 0 {
			each += 2
		}
		if layer.average {
			each *= float64(layer.Heads)
		}
		if layer.LayerNorm {
			each += 2
		}
		if layer.BatchNorm {
			each += 4
		}
		if layer.Residual {
			each += float64(features)
		}
		if layer.HiddenResidual == ResidualLinear {
			each += width
		}
		if layer.OwnState {
			each += width
		}
		width = float64(layer.Hidden)
		if layer.FeedForward {
			each += width + 1
		}
		values += each * width
	}
	if o.Form == FormProgram {
		if o.Jumping == JumpingConcat {
			values += width * float64(outputs) * float64(convolutions-1)
		}
		values += (width + 1) * float64(outputs)
	}
	const held = 4 * 4 // a parameter, its gradient and Adam's two moments
	bytes := int64(-1) // too many to count
	if values < math.MaxInt64/held {
		bytes = held * int64(values)
	}
	what := fmt.Sprintf("layers: GCN of %d convolutions of width %d: parameters, gradients and optimiser state", convolutions, o.Hidden)
	return memory.Check(what, bytes)
}

func (o GCNOptions) withDefaults() (GCNOptions, error) {
	if o.Hidden == 0 {
		o.Hidden = 256
	}
	if o.Activation == ops.ActivationNone {
		o.Activation = ops.ActivationELU
	}
	if o.Dropout == 0 {
		o.Dropout = 0.2
	}
	switch {
	case o.HiddenResidual > ResidualLinear:
		return o, fmt.Errorf("layers: GCN with an unknown residual connection %d", o.HiddenResidual)
	case o.BiasAfter && o.Heads > 0:
		return o, fmt.Errorf("layers: GCN with attention: its biases are after the attention already, so leave out BiasAfter")
	case o.BatchNorm && o.LayerNorm:
		return o, fmt.Errorf("layers: GCN with BatchNorm and LayerNorm: leave out one of them")
	case o.Jumping > JumpingMax:
		return o, fmt.Errorf("layers: GCN with an unknown jumping knowledge %d", o.Jumping)
	case o.Jumping != JumpingNone && (o.Form == FormEquation || o.PreNorm):
		return o, fmt.Errorf("layers: GCN with jumping knowledge: it needs FormProgram, which has a classifier, without PreNorm, whose residuals carry all outputs already")
	case o.PreNorm && o.Form == FormEquation:
		return o, fmt.Errorf("layers: GCN of the equation's form with PreNorm: its last convolution gives the logits; take FormProgram")
	case o.OwnState && !o.InputLayer:
		return o, fmt.Errorf("layers: GCN with OwnState and without an input layer: take HiddenResidual, which is the same for the first convolution, or InputLayer")
	case o.LabelInputs != nil && !o.InputLayer:
		return o, fmt.Errorf("layers: GCN with label inputs and without an input layer, which reads them: want both")
	case o.FeedForward && !o.PreNorm:
		return o, fmt.Errorf("layers: GCN with FeedForward and without PreNorm: want both")
	case o.Form > FormEquation:
		return o, fmt.Errorf("layers: GCN of an unknown form %d", o.Form)
	case o.Form == FormEquation && o.ClassifierDropout > 0:
		return o, fmt.Errorf("layers: GCN of the equation's form with dropout %v before its classifier: it has none", o.ClassifierDropout)
	case o.Form == FormProgram && o.ClassifierDropout == 0:
		o.ClassifierDropout = 0.2
	}
	if o.OutputHeads == 0 {
		o.OutputHeads = 1
	}
	switch {
	case o.Heads < 0 || o.OutputHeads < 0:
		return o, fmt.Errorf("layers: GCN of %d and %d heads, want positive numbers, or 0 for the default", o.Heads, o.OutputHeads)
	case o.Heads > 0 && o.Hidden%o.Heads != 0:
		return o, fmt.Errorf("layers: GCN of width %d with %d heads: the width must be a multiple of the heads", o.Hidden, o.Heads)
	}
	switch e := o.ExactInput; {
	case e != nil && o.Heads > 0:
		return o, fmt.Errorf("layers: GCN with attention and exact input: attention reads the features themselves, P·X has no use in it")
	case e != nil && o.InputLayer:
		return o, fmt.Errorf("layers: GCN with exact input and an input layer: P·X is of the features, which the input layer changes in training")
	case e != nil && o.InputDropout > 0:
		return o, fmt.Errorf("layers: GCN with exact input and dropout %v of the features: P·X is computed once, without dropout", o.InputDropout)
	}
	if o.Hidden < 0 || !(o.Dropout < 1) || !(o.ClassifierDropout < 1) {
		return o, fmt.Errorf("layers: GCN of width %d, dropout %v and %v before the classifier: want a positive width and rates below 1", o.Hidden, o.Dropout, o.ClassifierDropout)
	}
	o.Dropout, o.ClassifierDropout = max(o.Dropout, 0), max(o.ClassifierDropout, 0)
	return o, nil
}
