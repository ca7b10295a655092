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

// GCNOptions are the options of a GCN. The zero value is the paper's model.
type GCNOptions struct {
	Hidden     int            // width of each convolution; 0 means 256
	Activation ops.Activation // after each convolution; zero means ELU
	Dropout    float64        // after each activation; 0 means 0.2, NoDropout means none

	// ClassifierDropout is the rate of a further dropout before the classifier. The
	// program released with the paper has one of 0.2; the paper does not mention it.
	ClassifierDropout float64

	LayerNorm bool // normalise each convolution before its activation

	// Residual adds a linear map of the output nodes' own features to each
	// convolution. It uses the features, since a sampled layer's output nodes need
	// not be among its input nodes.
	Residual bool

	// ExactInput, if not nil, is P·X of the features. The first convolution is then a
	// dense layer on its rows, and the batch's sampler draws the blocks of the
	// convolutions above: the model has one convolution more than the sampler has
	// layers. Parameters and inference are those of the same model without it.
	ExactInput *ExactInput

	Order Order // order of the products in training; zero means by cost

	Init Initialiser // nil means PyTorch
	Seed uint64      // of the parameters' first values
}

// GCN is the paper's model: L × [graph convolution with bias → ELU → dropout] and a linear
// classifier. L is the number of layers of the batch's sampler, plus 1 with exact input; the
// paper's "2-layer GCN" has L = 2.
//
// Its parameters are named conv0.weight, conv0.bias, …, classifier.weight and
// classifier.bias; with the options on, also norm0.gain, norm0.shift,
// skip0.weight, ….
type GCN struct {
	Model // its Parameters are in the order of the layers

	Convolutions []*GraphConv
	Skips        []*G.Node // with Residual: a weight (features, hidden) a convolution
	Classifier   *Linear

	exact *ExactInput // nil: the first convolution is sampled

	memory atomic.Pointer[inferenceMemory] // of the last inference; nil while one uses it
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
	m := &GCN{Model: Model{Batch: batch}, exact: o.ExactInput}
	m.Inference = m
	if batch.refresher != nil {
		m.Refresher = m
	}
	start := ParameterOptions{Init: o.Init, Rand: rand.New(rand.NewPCG(o.Seed, 0))}
	for l, slot := range slots {
		if h, err = m.convolution(batch, x, l, slot, h, o, start); err != nil {
			return nil, fmt.Errorf("layers: convolution %d: %w", l, err)
		}
	}
	if m.Classifier, err = NewLinear(batch.Graph(), "classifier", o.Hidden, y.Outputs(), start); err != nil {
		return nil, err
	}
	m.Parameters = append(m.Parameters, m.Classifier.Parameters()...)
	if h, err = ops.Dropout(h, o.ClassifierDropout, batch.Mode()); err != nil {
		return nil, err
	}
	if m.Logits, err = m.Classifier.Forward(h); err != nil {
		return nil, err
	}
	if batch.refresher != nil {
		batch.refresher.params = make([]float32, m.size())
	}
	m.Loss, err = ops.Loss(m.Logits, targets)
	return m, err
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

// convolution adds layer l over h and returns its output.
func (m *GCN) convolution(batch *Batch, x *graph.Features, l int, slot *ops.Slot, h *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	g := batch.Graph()
	conv, err := NewGraphConv(g, fmt.Sprintf("conv%d", l), h.Shape()[1], o.Hidden, start)
	if err != nil {
		return nil, err
	}
	conv.Activation, conv.Order = o.Activation, o.Order
	conv.Dropout = Dropout{Rate: o.Dropout, Mode: batch.Mode()}
	if o.LayerNorm {
		if conv.Norm, err = NewLayerNorm(g, fmt.Sprintf("norm%d", l), o.Hidden); err != nil {
			return nil, err
		}
	}
	m.Convolutions = append(m.Convolutions, conv)
	m.Parameters = append(m.Parameters, conv.Parameters()...)
	var z *G.Node
	if l == 0 && o.ExactInput != nil { // h is P·X
		z, err = affine(h, conv.W, conv.B, slot)
	} else {
		z, err = conv.Convolve(slot, h)
	}
	if err != nil {
		return nil, err
	}
	if o.Residual {
		if z, err = m.skip(batch, x, l, slot, z, o, start); err != nil {
			return nil, err
		}
	}
	return conv.Finish(z)
}

// skip adds a linear map of the output nodes' own features to z.
func (m *GCN) skip(batch *Batch, x *graph.Features, l int, slot *ops.Slot, z *G.Node, o GCNOptions, start ParameterOptions) (*G.Node, error) {
	w, _, err := newParameters(batch.Graph(), fmt.Sprintf("skip%d", l), x.Cols, o.Hidden, false, start)
	if err != nil {
		return nil, err
	}
	m.Skips = append(m.Skips, w)
	m.Parameters = append(m.Parameters, w)
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
	l, in, hidden := float64(convolutions), float64(features), float64(o.Hidden)
	values := (in+(l-1)*hidden+l)*hidden + (hidden+1)*float64(outputs)
	if o.LayerNorm {
		values += l * 2 * hidden
	}
	if o.Residual {
		values += l * in * hidden
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
	if o.Hidden < 0 || !(o.Dropout < 1) || !(o.ClassifierDropout < 1) {
		return o, fmt.Errorf("layers: GCN of width %d, dropout %v and %v before the classifier: want a positive width and rates below 1", o.Hidden, o.Dropout, o.ClassifierDropout)
	}
	o.Dropout, o.ClassifierDropout = max(o.Dropout, 0), max(o.ClassifierDropout, 0)
	return o, nil
}
