package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
)

// partOptions are parts of a model and of its loss that the paper's model has not.
type partOptions struct {
	HiddenResidual string
	InputLayer     bool
	PreNorm        bool
	FeedForward    bool
	OwnState       bool
	BatchNorm      bool
	Jumping        string
	EdgeDropout    float64
	LabelInputs    float64
	LabelSmoothing float64
	ClassWeights   string
}

// activationNames are the values of --activation.
func activationNames() (names []string) {
	for _, a := range ops.Activations() {
		names = append(names, a.String())
	}
	return names
}

func activationNamed(name string) ops.Activation {
	return ops.Activations()[slices.Index(activationNames(), name)]
}

// noPart is the first value of --hidden-residual and of --jumping.
const noPart = "none"

const (
	classWeightsNone     = "none"
	classWeightsBalanced = "balanced"
)

func (o *partOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.HiddenResidual, "hidden-residual", noPart, "add a node's own row of each convolution's input: none, identity (where widths are equal) or linear (a map of it, as GraphSAGE has)")
	fs.BoolVar(&o.InputLayer, "input-layer", false, "a linear layer with activation and dropout below the first convolution")
	fs.BoolVar(&o.PreNorm, "pre-norm", false, "--layer-norm or --batch-norm of each convolution's input and of the classifier's, and residuals added last")
	fs.BoolVar(&o.OwnState, "own-state", false, "with --input-layer and --pre-norm: each convolution has a second weight for a node's own row, apart from its neighbours (GraphSAGE)")
	fs.StringVar(&o.Jumping, "jumping", noPart, "jumping knowledge, a classifier of all convolutions' outputs: none, concat, sum or max")
	fs.BoolVar(&o.BatchNorm, "batch-norm", false, "in place of --layer-norm: normalise the columns over the mini-batch; running averages in inference")
	fs.BoolVar(&o.FeedForward, "feed-forward", false, "with --pre-norm: a second linear layer and dropout after each convolution's activation")
	fs.Float64Var(&o.EdgeDropout, "edge-dropout", 0, "share of the sampled edges dropped while training; the others are scaled up")
	fs.Float64Var(&o.LabelInputs, "label-inputs", 0, "with --input-layer: share of the training nodes whose labels a mini-batch reads as inputs, and whose loss does not count; 0: none; inference reads all training labels")
	fs.Float64Var(&o.LabelSmoothing, "label-smoothing", 0, "share of a label's weight that goes to all classes alike")
	fs.StringVar(&o.ClassWeights, "class-weights", classWeightsNone, "none, or balanced: each class has the same weight in the loss")
}

// check returns an error for the first option with a wrong value.
func (o *partOptions) check() error {
	if err := oneOf("hidden-residual", o.HiddenResidual, layers.ResidualNames()); err != nil {
		return err
	}
	if err := oneOf("class-weights", o.ClassWeights, []string{classWeightsNone, classWeightsBalanced}); err != nil {
		return err
	}
	if err := oneOf("jumping", o.Jumping, layers.JumpingNames()); err != nil {
		return err
	}
	if o.jumps() && o.PreNorm {
		return usagef("--jumping %s excludes --pre-norm, whose residuals carry the outputs of all convolutions already", o.Jumping)
	}
	if o.OwnState && !o.InputLayer {
		return usagef("--own-state needs --input-layer; without it, take --hidden-residual linear")
	}
	if o.FeedForward && !o.PreNorm {
		return usagef("--feed-forward needs --pre-norm: a feed-forward block adds its residual last")
	}
	if !(o.EdgeDropout >= 0 && o.EdgeDropout < 1) {
		return usagef("--edge-dropout %v: want a number in [0, 1)", o.EdgeDropout)
	}
	if !(o.LabelInputs >= 0 && o.LabelInputs < 1) {
		return usagef("--label-inputs %v: want a number in [0, 1)", o.LabelInputs)
	}
	if !(o.LabelSmoothing >= 0 && o.LabelSmoothing < 1) {
		return usagef("--label-smoothing %v: want a number in [0, 1)", o.LabelSmoothing)
	}
	return nil
}

// ownRows reports whether convolutions read the rows of their own output nodes.
func (o *partOptions) ownRows() bool {
	return o.HiddenResidual != noPart || o.OwnState || o.jumps()
}

func (o *partOptions) jumps() bool { return o.Jumping != noPart }

// ownRowsOption returns the option that makes convolutions read these rows.
func (o *partOptions) ownRowsOption() string {
	if o.OwnState {
		return "--own-state"
	}
	if o.jumps() {
		return "--jumping " + o.Jumping
	}
	return "--hidden-residual " + o.HiddenResidual
}

// addTo adds the options that have an effect to a run's config.json.
func (o *partOptions) addTo(config map[string]any) {
	if o.HiddenResidual != noPart {
		config["hidden_residual"] = o.HiddenResidual
	}
	if o.InputLayer {
		config["input_layer"] = true
	}
	if o.PreNorm {
		config["pre_norm"] = true
	}
	if o.jumps() {
		config["jumping"] = o.Jumping
	}
	if o.BatchNorm {
		config["batch_norm"] = true
	}
	if o.OwnState {
		config["own_state"] = true
	}
	if o.EdgeDropout > 0 {
		config["edge_dropout"] = o.EdgeDropout
	}
	if o.FeedForward {
		config["feed_forward"] = true
	}
	if o.LabelInputs > 0 {
		config["label_inputs"] = o.LabelInputs
	}
	if o.LabelSmoothing > 0 {
		config["label_smoothing"] = o.LabelSmoothing
	}
	if o.ClassWeights != classWeightsNone {
		config["class_weights"] = o.ClassWeights
	}
}

// apply sets the options of a model that need no data.
func (o *partOptions) apply(gcn *layers.GCNOptions) {
	gcn.HiddenResidual = layers.Residual(slices.Index(layers.ResidualNames(), o.HiddenResidual))
	gcn.PreNorm, gcn.FeedForward, gcn.OwnState = o.PreNorm, o.FeedForward, o.OwnState
	gcn.BatchNorm = o.BatchNorm
	gcn.Jumping = layers.Jumping(slices.Index(layers.JumpingNames(), o.Jumping))
	gcn.InputLayer, gcn.LabelSmoothing = o.InputLayer, o.LabelSmoothing
}

// applyData sets the options of a model for data.
func (o *partOptions) applyData(gcn *layers.GCNOptions, data *datasets.Data) error {
	if o.LabelInputs > 0 {
		gcn.LabelInputs = &layers.LabelInputs{Nodes: data.Split.Train, Share: o.LabelInputs}
	}
	if o.ClassWeights == classWeightsNone {
		return nil
	}
	if data.Labels.Tasks > 0 {
		return usagef("--class-weights %s: the labels are %d binary tasks, want classes", o.ClassWeights, data.Labels.Tasks)
	}
	gcn.ClassWeights = balancedWeights(data)
	return nil
}

// balancedWeights returns n/(C·n_c) for each of C classes with n_c of the n labelled
// training nodes; a class without any gets 0.
func balancedWeights(data *datasets.Data) []float32 {
	counts := make([]int, data.Labels.Classes)
	total := 0
	for _, v := range data.Split.Train {
		if c := data.Labels.Class[v]; c >= 0 {
			counts[c]++
			total++
		}
	}
	weights := make([]float32, len(counts))
	for c, n := range counts {
		if n > 0 {
			weights[c] = float32(float64(total) / float64(len(counts)*n))
		}
	}
	return weights
}
