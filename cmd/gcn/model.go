package main

import (
	"cmp"
	"context"

	"github.com/spf13/pflag"
	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/layers"
)

func (o *trainOptions) modelFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Model, "model", modelProgram, "program: as in the paper's program; equation: convolutions alone, as in the paper's equation 1")
	o.attentionOptions.flags(fs)
	fs.IntVar(&o.Layers, "layers", 2, "graph convolutions")
	fs.IntVar(&o.Hidden, "hidden", 256, "width of the hidden layers")
	fs.Float64Var(&o.Dropout, "dropout", 0.2, "share of hidden values dropped while training")
	fs.Float64Var(&o.InputDropout, "input-dropout", 0, "share of the features dropped while training")
	fs.StringVar(&o.Activation, "activation", "elu", "elu, relu or gelu")
	fs.Float64Var(&o.ClassifierDropout, "classifier-dropout", 0.2, "share of the classifier's inputs dropped again; not with --model equation")
	fs.BoolVar(&o.BiasAfter, "bias-after", false, "biases after the propagation, as in PyTorch Geometric and DGL; --model equation then has biases too")
	fs.BoolVar(&o.LayerNorm, "layer-norm", false, "layer normalisation before each activation")
	fs.BoolVar(&o.Residual, "residual", false, "add a linear map of a node's own features to each convolution")
	o.partOptions.flags(fs)
	fs.BoolVar(&o.ExactInput, "exact-input", false, "propagate the features once, over all neighbours, and sample only the other layers: one number fewer in --samples")
	fs.BoolVar(&o.ControlHalf, "control-half", false, "with --control refresh, ladies-cv or mvs: kept activations in float16, half the memory; on the CPU")
	fs.BoolVar(&o.ControlLinear, "control-linear", false, "with --control refresh and --exact-input: the part of the estimate that is linear in the first weights exactly, with two layers, elu or relu, and neither norms nor residuals (default for ladies-cv, where --control-linear=false leaves it out)")
}

// checkModel is the part of check for the options of the model and its sampler.
func (o *trainOptions) checkModel(fs *pflag.FlagSet) error {
	if err := atLeast("workers", o.Workers, 0); err != nil {
		return err
	}
	if err := o.openDevice(); err != nil {
		return err
	}
	if err := within("hidden", o.Hidden, 1, mostHidden); err != nil {
		return err
	}
	for _, rate := range []struct {
		name  string
		value float64
	}{{"dropout", o.Dropout}, {"input-dropout", o.InputDropout}, {"classifier-dropout", o.ClassifierDropout}, {"attention-dropout", o.AttentionDropout}} {
		if !(rate.value >= 0 && rate.value < 1) {
			return usagef("--%s %v: want a number in [0, 1)", rate.name, rate.value)
		}
	}
	if err := oneOf("model", o.Model, []string{modelProgram, modelEquation}); err != nil {
		return usagef("%w; --conv names the kind of convolution, gcn or gat", err)
	}
	if o.Model == modelEquation && o.ClassifierDropout > 0 {
		if fs.Changed("classifier-dropout") {
			return usagef("--classifier-dropout %v: --model equation has no classifier: want 0", o.ClassifierDropout)
		}
		o.ClassifierDropout = 0
	}
	if err := o.partOptions.check(); err != nil {
		return err
	}
	if err := o.attentionOptions.check(fs, o.Hidden, o.Model); err != nil {
		return err
	}
	if o.BiasAfter && o.Conv == convGAT {
		return usagef("--bias-after is not for --conv gat, whose biases are after the attention already")
	}
	if err := oneOf("activation", o.Activation, activationNames()); err != nil {
		return err
	}
	if o.jumps() && o.Model == modelEquation {
		return usagef("--jumping %s is not for --model equation, which has no classifier", o.Jumping)
	}
	if o.BatchNorm && o.LayerNorm {
		return usagef("--batch-norm and --layer-norm are both given: leave out one of them")
	}
	if o.PreNorm && o.Model == modelEquation {
		return usagef("--pre-norm is not for --model equation, whose last convolution gives the scores")
	}
	if err := within("layers", o.Layers, 1, mostLayers); err != nil {
		return err
	}
	if o.Auto {
		return usagef("--samples auto is for gcn train")
	}
	if err := o.Samples.check(); err != nil {
		return err
	}
	if len(o.Samples) > 1 && !fs.Changed("layers") {
		o.Layers = len(o.Samples)
	}
	if err := o.samplingOptions.check(fs); err != nil {
		return err
	}
	if !o.namesParts() {
		method := methodNamed(o.Method)
		if method.ExactInput && fs.Changed("exact-input") && !o.ExactInput {
			return usagef("--exact-input=false: --method %s has exact input; use another method, such as %s", o.Method, paperMethod)
		}
		o.ExactInput = o.ExactInput || method.ExactInput
		if method.Controlled() && !method.ExactInput && o.Conv == convGAT {
			return usagef("--method %s excludes --conv gat: attention keeps no history of activations; use another method", o.Method)
		}
		if method.Learned() && o.Conv == convGAT {
			return usagef("--method %s excludes --conv gat: its sampler learns from rows that attention does not propagate; use another method", o.Method)
		}
		if method.Learned() && o.EdgeDropout > 0 {
			return usagef("--method %s excludes --edge-dropout: its sampler learns from the edges that it drew", o.Method)
		}
		if method.Learned() && o.ownRows() {
			return usagef("--method %s excludes %s: it is the only method whose layers need not read the nodes that they compute", o.Method, o.ownRowsOption())
		}
		if method.Learned() && o.Micro > 1 {
			return usagef("--method %s does not go with --micro %d: its sampler learns from each mini-batch, which another rank may have; take another method, such as ladies-flat-debiased, or --micro 1", o.Method, o.Micro)
		}
	}
	if err := o.fillOwnParts(fs); err != nil {
		return err
	}
	if o.EdgeDropout > 0 && o.keepsHistories() {
		return usagef("--edge-dropout excludes control variates, which add the edges that are left out: use another method than %s", o.methodName())
	}
	if o.ControlHalf && !o.refreshes() {
		return usagef("--control-half is for --control refresh and the methods ladies-cv and mvs")
	}
	if o.Conv == convGAT && o.controls() {
		return usagef("--control %s excludes --conv gat: attention keeps no history of activations", o.Control)
	}
	if err := o.checkLabelInputs(); err != nil {
		return err
	}
	if o.PreNorm && o.keepsHistories() {
		return usagef("--pre-norm excludes control variates, which keep activations and not their norms: use another method than %s", o.methodName())
	}
	if o.Micro > 1 && o.Layers > 1 && o.keepsHistories() && !o.refreshes() {
		this, other := "method "+o.Method, "method ladies-cv"
		if o.controls() {
			this, other = "control "+o.Control, "control refresh"
		}
		return usagef("--%s does not go with --micro %d: the next mini-batch needs the histories of this one, which another rank may have; take --%s, or --micro 1", this, o.Micro, other)
	}
	if !o.ExactInput {
		if o.controls() && o.Layers == 1 && len(o.Samples) < 2 {
			return usagef("--control %s with --layers 1: the only layer reads features, so there are no activations to keep", o.Control)
		}
		return o.fillSamples(o.Layers)
	}
	sampled := o.sampledLayers()
	switch given := len(o.Samples); {
	case o.Conv == convGAT && !fs.Changed("exact-input"):
		return usagef("--method %s excludes --conv gat: attention has no control, and reads the features themselves; use another method", o.Method)
	case o.Conv == convGAT:
		return usagef("--exact-input excludes --conv gat: attention reads the features themselves")
	case o.InputLayer && !fs.Changed("exact-input"):
		return usagef("--method %s excludes --input-layer: the features are propagated once, before training; use another method", o.Method)
	case o.InputLayer:
		return usagef("--exact-input excludes --input-layer: the features are propagated once, before training")
	case o.InputDropout > 0:
		return usagef("--exact-input excludes --input-dropout: the features are propagated once, without dropout")
	case sampled == 0:
		return usagef("--exact-input with --layers 1: the only propagation is then exact, and nothing is left to sample; use --method full, or more layers")
	case given == o.Layers:
		o.Samples, o.unused = o.Samples[:sampled], o.Samples[sampled:]
	case given > 1 && given != sampled:
		return usagef("--samples %s has %d numbers; with --exact-input, %d layers need %d", o.Samples.String(), given, o.Layers, sampled)
	}
	return o.fillSamples(sampled)
}

// checkLabelInputs refuses label inputs that a mini-batch cannot choose for itself.
func (o *trainOptions) checkLabelInputs() error {
	switch {
	case o.LabelInputs == 0:
		return nil
	case o.keepsHistories():
		return usagef("--label-inputs excludes control variates, whose kept activations hold labels of the mini-batch's own nodes: use another method than %s", o.methodName())
	case o.ExactInput:
		return usagef("--label-inputs excludes --exact-input: the input is propagated once, but each mini-batch reads other labels")
	case cmp.Or(o.Seeds, seedsUniform) != seedsUniform: // benchmarks have no --seeds
		return usagef("--label-inputs excludes --seeds %s: a node whose label is an input has no loss to be chosen by", o.Seeds)
	case !o.InputLayer:
		return usagef("--label-inputs needs --input-layer, which reads the labels beside the features")
	}
	return nil
}

// checkHalf refuses steps on a GPU with activations in float16. Inference keeps none.
func (o *trainOptions) checkHalf() error {
	if o.ControlHalf && o.device != nil {
		return usagef("--control-half is for the CPU: leave it out with --device %s", o.Device)
	}
	return nil
}

// sampledLayers returns the number of layers that the sampler draws.
func (o *trainOptions) sampledLayers() int {
	if o.ExactInput {
		return o.Layers - 1
	}
	return o.Layers
}

// newModel builds the model that the options describe, in an expression graph
// of its own.
func (o *trainOptions) newModel(ctx context.Context, data *datasets.Data) (*layers.GCN, error) {
	if _, err := blas.Default(); err != nil {
		return nil, err
	}
	if err := o.propagate(ctx, data, nil); err != nil {
		return nil, err
	}
	sampler, err := o.newSampler(data)
	if err != nil {
		return nil, err
	}
	gcn := o.gcnOptions()
	if err := o.partOptions.applyData(&gcn, data); err != nil {
		return nil, err
	}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	m, err := layers.NewGCN(batch, data.Features, data.Labels, gcn)
	if err != nil {
		return nil, err
	}
	m.Device = o.device
	return m, nil
}

// gcnOptions returns the options of the model, except those that follow from the data.
func (o *trainOptions) gcnOptions() layers.GCNOptions {
	gcn := layers.GCNOptions{
		Hidden: o.Hidden, Activation: activationNamed(o.Activation), LayerNorm: o.LayerNorm, Residual: o.Residual, Seed: o.Seed,
		// 0 means none here, and the default there.
		Dropout: cmp.Or(o.Dropout, layers.NoDropout), ClassifierDropout: cmp.Or(o.ClassifierDropout, layers.NoDropout),
		InputDropout: o.InputDropout, ExactInput: o.exact, ControlHalf: o.ControlHalf, ControlLinear: o.ControlLinear, BiasAfter: o.BiasAfter,
	}
	if o.Conv == convGAT {
		gcn.Heads, gcn.OutputHeads = o.Heads, o.OutputHeads
		gcn.AttentionDropout, gcn.PlainAttention = o.AttentionDropout, o.PlainAttention
	}
	if o.Model == modelEquation {
		gcn.Form = layers.FormEquation
	}
	o.partOptions.apply(&gcn)
	return gcn
}

// propagate computes P·X of the data with --exact-input, unless it is there already.
func (o *trainOptions) propagate(ctx context.Context, data *datasets.Data, show func(datasets.FetchProgress)) (err error) {
	if !o.ExactInput || o.exact != nil {
		return nil
	}
	var progress func(done, rows int)
	if show != nil {
		row := 4 * int64(data.Features.Cols)
		progress = func(done, rows int) {
			show(datasets.FetchProgress{Name: o.Data, Stage: "propagate", Done: row * int64(done), Total: row * int64(rows)})
		}
	}
	o.exact, err = layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, progress)
	return err
}
