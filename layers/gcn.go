package layers

import (
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
)

// GCNOptions is the shape of a GCN. The zero value is the model of the paper.
type GCNOptions struct {
	Hidden     int            // width of each convolution; 0 means 256
	Activation ops.Activation // after each convolution; zero means ELU
	Dropout    float64        // after each activation; 0 means 0.2, negative means none

	// ClassifierDropout is applied once more before the classifier. The program
	// released with the paper does so at 0.2; the paper does not say it.
	ClassifierDropout float64

	LayerNorm bool // normalise each convolution before its activation
	Residual  bool // add a linear map of the output nodes' own features to each convolution

	Init Initialiser // nil means PyTorch
	Seed uint64      // of the parameters' first values
}

// GCN is the model of the paper: L × [graph convolution with bias → ELU →
// dropout] and a linear classifier, for as many convolutions as the batch's
// sampler has layers; the paper's "2-layer GCN" has two.
//
// Its parameters are named conv0.weight, conv0.bias, …, classifier.weight and
// classifier.bias.
type GCN struct {
	Convolutions []*GraphConv
	Classifier   *Linear

	Logits     *G.Node // (output nodes, classes or tasks)
	Loss       *G.Node // scalar
	Parameters G.Nodes // in a fixed order
}

// NewGCN builds the model over batch, reading x and predicting y, and adds its
// loss.
func NewGCN(batch *Batch, x *graph.Features, y *graph.Labels, o GCNOptions) (*GCN, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	targets := batch.Targets(y)
	if targets == nil {
		return nil, fmt.Errorf("layers: the batch has targets of other labels already")
	}
	h, err := batch.Features(x)
	if err != nil {
		return nil, err
	}
	g := batch.Graph()
	start := ParameterOptions{Init: o.Init, Rand: rand.New(rand.NewPCG(o.Seed, 0))}
	m := new(GCN)
	width := x.Cols
	for l := range batch.Layers() {
		conv, err := NewGraphConv(g, fmt.Sprintf("conv%d", l), width, o.Hidden, start)
		if err != nil {
			return nil, err
		}
		conv.Activation = o.Activation
		conv.Dropout = Dropout{Rate: o.Dropout, Mode: batch.Mode()}
		if h, err = conv.Forward(batch.Slot(l), h); err != nil {
			return nil, fmt.Errorf("layers: convolution %d: %w", l, err)
		}
		m.Convolutions = append(m.Convolutions, conv)
		m.Parameters = append(m.Parameters, conv.Parameters()...)
		width = o.Hidden
	}
	if m.Classifier, err = NewLinear(g, "classifier", width, y.Outputs(), start); err != nil {
		return nil, err
	}
	m.Parameters = append(m.Parameters, m.Classifier.Parameters()...)
	if h, err = ops.Dropout(h, o.ClassifierDropout, batch.Mode()); err != nil {
		return nil, err
	}
	if m.Logits, err = m.Classifier.Forward(h); err != nil {
		return nil, err
	}
	m.Loss, err = ops.Loss(m.Logits, targets)
	return m, err
}

func (o GCNOptions) withDefaults() (GCNOptions, error) {
	if o.Hidden == 0 {
		o.Hidden = 256
	}
	if o.Activation == ops.ActivationNone {
		o.Activation = ops.ActivationELU
	}
	switch {
	case o.Dropout == 0:
		o.Dropout = 0.2
	case o.Dropout < 0:
		o.Dropout = 0
	}
	o.ClassifierDropout = max(o.ClassifierDropout, 0)
	if o.Hidden < 0 || o.Dropout >= 1 || o.ClassifierDropout >= 1 {
		return o, fmt.Errorf("layers: GCN of width %d, dropout %v and %v before the classifier: want a positive width and rates below 1", o.Hidden, o.Dropout, o.ClassifierDropout)
	}
	return o, nil
}
