package layers

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
)

// NoDropout is a rate that turns dropout off where 0 means a default. Any negative rate
// does the same.
const NoDropout = -1.0

// Form is one of the two forms of the paper's model; docs/paper.md compares them.
type Form uint8

const (
	FormProgram  Form = iota // of the program released with the paper
	FormEquation             // of the paper's equation 1
)

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

	Norm NormKind // before each activation

	// PreNorm is the other order of a residual block (Xiong et al. 2020, arXiv:2002.04745):
	// the norm is of the input of each convolution and of the classifier, and residual
	// connections are added last, after the activation and the dropout. Features are not
	// normalised: the first convolution without InputLayer reads them as they are. It is
	// for FormProgram, and excludes a control variate.
	PreNorm bool

	// OwnState adds a linear map of the output nodes' own rows of each convolution's input,
	// after PreNorm, to the propagated rows: GraphSAGE's concatenation. It needs
	// InputLayer. Without PreNorm it is the same map as ResidualLinear. Output nodes must be
	// among the input nodes, as for HiddenResidual.
	OwnState bool

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
	// Norm, Residual and HiddenResidual. Memory: 4 bytes for each
	// training node and feature, for P·(P·X), which the first Refresh computes.
	ControlLinear bool

	Order Order // order of the products in training; zero means by cost

	Init Initialiser // nil means PyTorch, and GlorotUniform for attention
	Seed uint64      // of the parameters' first values

	average bool // the mean of the heads
}

// reader returns the slot of convolution l, or nil. It returns the slot if dropout makes the
// convolution's input, and the convolution alone reads this input: no norm or own state.
func (o GCNOptions) reader(slots []*ops.Slot, l int) *ops.Slot {
	if l == len(slots) || o.OwnState || o.PreNorm && (l > 0 || o.InputLayer) {
		return nil
	}
	return slots[l]
}

// convolution returns the options of convolution l. The last one of FormProgram also drops
// for the classifier; the last one of FormEquation gives the logits.
func (o GCNOptions) convolution(l, layers, outputs int) GCNOptions {
	if o.Form == FormProgram && l == layers-1 && o.ClassifierDropout > 0 && !o.PreNorm {
		// Two dropouts in a row have the law of one with this rate, at twice the time.
		o.Dropout = 1 - (1-o.Dropout)*(1-o.ClassifierDropout)
	}
	if o.Form == FormEquation && l == layers-1 {
		o.Hidden = outputs
		o.Activation = ops.ActivationNone
		o.Dropout = 0
		o.Norm = NormNone
		if o.Heads > 0 {
			o.Heads, o.average = o.OutputHeads, true
		}
	}
	return o
}

func (o GCNOptions) withDefaults() (GCNOptions, error) {
	o.Hidden = cmp.Or(o.Hidden, 256)
	o.Activation = cmp.Or(o.Activation, ops.ActivationELU)
	o.Dropout = cmp.Or(o.Dropout, 0.2)
	if o.Form == FormProgram {
		o.ClassifierDropout = cmp.Or(o.ClassifierDropout, 0.2)
	}
	o.OutputHeads = cmp.Or(o.OutputHeads, 1)
	equation := o.Form == FormEquation
	attention := o.Heads > 0
	exact := o.ExactInput != nil
	for _, c := range []struct {
		wrong bool
		what  string
	}{
		{o.Form > FormEquation || o.HiddenResidual > ResidualLinear,
			fmt.Sprintf("of form %d with residual connection %d: one of them is unknown",
				o.Form, o.HiddenResidual)},
		{o.Hidden < 0 || !(o.Dropout < 1) || !(o.ClassifierDropout < 1),
			fmt.Sprintf("of width %d, dropout %v and %v before the classifier: want a positive width and rates below 1", o.Hidden, o.Dropout, o.ClassifierDropout)},
		{o.Heads < 0 || o.OutputHeads < 0, fmt.Sprintf("of %d and %d heads, want positive numbers, or 0 for the default", o.Heads, o.OutputHeads)},
		{attention && o.Hidden%max(o.Heads, 1) != 0, fmt.Sprintf("of width %d with %d heads: the width must be a multiple of the heads", o.Hidden, o.Heads)},
		{attention && o.BiasAfter, "with attention: its biases are after the attention already, so leave out BiasAfter"},
		{equation && o.PreNorm, "of the equation's form with PreNorm: its last convolution gives the logits; take FormProgram"},
		{equation && o.ClassifierDropout > 0, fmt.Sprintf("of the equation's form with dropout %v before its classifier: it has none", o.ClassifierDropout)},
		{o.OwnState && !o.InputLayer, "with OwnState and without an input layer: take HiddenResidual, which is the same for the first convolution, or InputLayer"},
		{o.FeedForward && !o.PreNorm, "with FeedForward and without PreNorm: want both"},
		{exact && attention, "with attention and exact input: attention reads the features themselves, P·X has no use in it"},
		{exact && o.InputLayer, "with exact input and an input layer: P·X is of the features, which the input layer changes in training"},
		{exact && o.InputDropout > 0, fmt.Sprintf("with exact input and dropout %v of the features: P·X is computed once, without dropout", o.InputDropout)},
	} {
		if c.wrong {
			return o, fmt.Errorf("layers: GCN %s", c.what)
		}
	}
	o.Dropout = max(o.Dropout, 0)
	o.ClassifierDropout = max(o.ClassifierDropout, 0)
	return o, nil
}
