package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// samplingOptions name the sampler: a method, or the parts of a layer-wise method, or
// the method neighbor and its parts.
type samplingOptions struct {
	Method  string
	Samples intList // the layer next to the output first; empty means the method's default
	Auto    bool    // choose them: gcn train only

	Importance    string
	Flat          bool
	Neighborhood  bool
	Draw          string
	Weight        string
	Population    string // the n of debiased weights
	IncludeRows   bool
	NormalizeRows bool
	Control       string

	DropoutNoise string // of the sampled layers; empty means the method's own
}

// trainOptions are the options of a training run. Its config.json holds them under the
// names of the flags, with _ in place of -. A limit of 0 is off.
type trainOptions struct {
	Data string
	samplingOptions

	Batch           int
	Micro           int
	BatchesPerEpoch int
	Seeds           string
	SeedsEvery      int
	Epochs          int
	MaxBatches      int
	EvalEvery       evalInterval
	EvalSamples     int
	Patience        int
	ControlEvery    int

	Model string
	attentionOptions
	partOptions
	Layers     int
	Hidden     int
	Dropout    float64
	Activation string

	InputDropout      float64
	ClassifierDropout float64
	LayerNorm         bool
	BiasAfter         bool
	Residual          bool
	ExactInput        bool
	ControlHalf       bool
	ControlLinear     bool

	LR           float64
	Beta1, Beta2 float64
	Epsilon      float64
	WeightDecay  float64
	Clip         float64
	scheduleOptions

	Seed    uint64
	Runs    int
	Workers int
	Device  string

	Partition string // of the data over MPI ranks

	device *ops.Device // nil: the CPU

	unused intList            // sample sizes of the input, which --exact-input does not draw
	exact  *layers.ExactInput // of the data; nil before the first model
}

const (
	defaultData    = "synth:demo"
	defaultMethod  = "ladies-flat-debiased"
	nodeWiseMethod = "neighbor" // the method that takes parts
	defaultSamples = 512        // a layer

	mostHidden = 1 << 16
	mostLayers = 1000

	modelProgram  = "program"
	modelEquation = "equation"

	populationCandidates = "candidates"
	populationNodes      = "nodes"

	seedsUniform  = "uniform"
	seedsLoss     = "loss"
	seedsGradient = "gradient"
)

// flags registers the options of a training run, with their defaults.
func (o *trainOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Data, "data", defaultData, "data `SPEC`; gcn datasets list shows all kinds")
	o.samplingOptions.flags(fs)
	fs.Lookup("samples").Usage += "; auto: as gcn study advise recommends"
	fs.IntVar(&o.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&o.Micro, "micro", 1, "mini-batches of an update, shared by MPI ranks; limits and intervals then count updates")
	fs.IntVar(&o.BatchesPerEpoch, "batches-per-epoch", 10, "mini-batches of random training nodes per epoch; 0: one pass over all training nodes")
	fs.StringVar(&o.Seeds, "seeds", seedsUniform, "probabilities of the training nodes: uniform, or by their last loss or gradient, with debiased weights; mvs: gradient unless given")
	fs.IntVar(&o.SeedsEvery, "seeds-every", 50, "with --seeds loss or gradient: mini-batches between two updates")
	fs.IntVar(&o.Epochs, "epochs", 0, "stop after this many epochs of --batches-per-epoch mini-batches; 0: no limit")
	fs.IntVar(&o.MaxBatches, "max-batches", 1000, "stop after this many mini-batches; 0: no limit")
	o.EvalEvery = 10
	fs.Var(&o.EvalEvery, "eval-every", "mini-batches between two validation scores; auto: the scores are about a quarter of the work")
	fs.IntVar(&o.EvalSamples, "eval-samples", 0, "score a sample of `N` validation and N test nodes, drawn once, in place of all: the scores, and the choice of the best weights, are then estimates, printed with their standard errors (0: all nodes)")
	fs.IntVar(&o.Patience, "patience", 200, "stop after this many mini-batches without a better validation score; 0: no limit")
	fs.IntVar(&o.ControlEvery, "control-every", 50, "with --control refresh, ladies-cv or mvs: mini-batches between two refreshes")
	o.modelFlags(fs)
	fs.Float64Var(&o.LR, "lr", 0.001, "Adam's step size")
	fs.Float64Var(&o.Beta1, "beta1", 0.9, "decay of Adam's mean of the gradients")
	fs.Float64Var(&o.Beta2, "beta2", 0.999, "decay of Adam's mean of their squares")
	fs.Float64Var(&o.Epsilon, "epsilon", 1e-8, "Adam's constant against division by zero")
	fs.Float64Var(&o.WeightDecay, "weight-decay", 0, "Adam's L2 coefficient")
	o.scheduleOptions.flags(fs)
	fs.Float64Var(&o.Clip, "clip", 0, "scale gradients of a larger norm down to this one; 0: no limit")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of all random decisions")
	fs.IntVar(&o.Runs, "runs", 1, "train this many times, with seeds seed, seed+1, …")
	fs.IntVar(&o.Workers, "workers", 0, "goroutines that sample ahead, without effect on the results; 0: one per core")
	fs.StringVar(&o.Device, "device", "cpu", "cpu, or cuda in a build with CUDA")
	fs.StringVar(&o.Partition, "partition", partitionNone, "data that MPI ranks hold in parts, without effect on the results: none, features, or all (the graph too)")
}

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

// openDevice opens the device that the options name. It stays open until the process ends.
func (o *trainOptions) openDevice() error {
	if o.Device != "cpu" && o.Device != "cuda" {
		return usagef("--device %q: want cpu or cuda", o.Device)
	}
	var err error
	if o.device, err = ops.OpenDevice(o.Device); err != nil {
		err = fmt.Errorf("--device %s: %w; or use --device cpu", o.Device, err)
		if !ops.CUDA {
			return usageError{err}
		}
	}
	return err
}

func (o *samplingOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Method, "method", defaultMethod, "sampling method `NAME`; gcn methods lists them")
	fs.Var(samplesFlag{o}, "samples", "nodes drawn per layer, next to the output first, or one number for all (default 512; node-wise methods: 2 neighbours per node)")
	fs.StringVar(&o.Importance, "importance", "", "in place of --method, or with neighbor: `NAME` of the probabilities: "+strings.Join(samplers.ImportanceNames(), ", ")+" (default ladies; uniform with neighbor)")
	fs.BoolVar(&o.Flat, "flat", false, "probabilities in proportion to the norms of columns instead of their squares")
	fs.BoolVar(&o.Neighborhood, "neighborhood", false, "with fastgcn: draw only from the neighbours of the layer's nodes")
	fs.StringVar(&o.Draw, "draw", "", "`NAME` of the draw: "+strings.Join(samplers.DrawNames(), ", ")+" (default wrs: weighted, without replacement)")
	fs.StringVar(&o.Weight, "weight", "", "`NAME` of the weights: "+strings.Join(samplers.WeightNames(), ", ")+" (default: unbiased ones for the draw)")
	fs.StringVar(&o.Population, "population", populationCandidates, "n of the debiased weights: candidates, or nodes as in the paper's program")
	fs.BoolVar(&o.IncludeRows, "include-rows", false, "add a layer's own nodes to the nodes drawn, as LADIES' program does")
	fs.BoolVar(&o.NormalizeRows, "normalize-rows", false, "rescale each sampled row of the Laplacian to the sum of the whole row")
	fs.StringVar(&o.Control, "control", "", "control variate `NAME`: none, refresh (activations of every --control-every mini-batches) or rolling (each node's last ones)")
	fs.StringVar(&o.DropoutNoise, "dropout-noise", "", "noise of dropout in sampled layers: sampled, multiplied by the weights of the nodes drawn; or full, with the variance that it has over all neighbours (layer-wise methods with unbiased weights; default sampled, ladies-cv: full)")
}

// check returns an error for the first option with a wrong value. It also makes Samples
// one number per layer.
func (o *trainOptions) check(fs *pflag.FlagSet) error {
	for _, c := range []struct {
		name  string
		value int
		least int
	}{
		{"batch", o.Batch, 1},
		{"micro", o.Micro, 1},
		{"batches-per-epoch", o.BatchesPerEpoch, 0},
		{"seeds-every", o.SeedsEvery, 1},
		{"epochs", o.Epochs, 0},
		{"max-batches", o.MaxBatches, 0},
		{"patience", o.Patience, 0},
		{"eval-samples", o.EvalSamples, 0},
		{"control-every", o.ControlEvery, 1},
		{"runs", o.Runs, 1},
	} {
		if err := atLeast(c.name, c.value, c.least); err != nil {
			return err
		}
	}
	if o.Epochs == 0 && o.MaxBatches == 0 && o.Patience == 0 {
		return usagef("--epochs, --max-batches and --patience are all 0: training would not end")
	}
	if err := o.checkSeeds(fs); err != nil {
		return err
	}
	if err := o.checkAdam(); err != nil {
		return err
	}
	epochs := o.Epochs // mini-batches of all epochs
	if most := math.MaxInt; epochs > 0 && (o.BatchesPerEpoch == 0 || epochs > most/o.BatchesPerEpoch) {
		epochs = most
	} else {
		epochs *= o.BatchesPerEpoch
	}
	if err := o.scheduleOptions.check(fs, o.WeightDecay, o.MaxBatches, epochs); err != nil {
		return err
	}
	if o.Seed > math.MaxUint64-uint64(o.Runs-1) {
		return usagef("--seed %d leaves no room for %d runs", o.Seed, o.Runs)
	}
	if err := o.checkModel(fs); err != nil {
		return err
	}
	if fs.Changed("control-every") && !o.refreshes() {
		return usagef("--control-every is for --control refresh and the methods ladies-cv and mvs")
	}
	return o.checkPartition()
}

func (o *trainOptions) checkSeeds(fs *pflag.FlagSet) error {
	if err := oneOf("seeds", o.Seeds, []string{seedsUniform, seedsLoss, seedsGradient}); err != nil {
		return err
	}
	if !o.namesParts() && methodNamed(o.Method).GradientSeeds && o.Seeds == seedsUniform {
		if fs.Changed("seeds") {
			return usagef("--seeds uniform: --method %s draws mini-batches by importance: want gradient or loss; for uniform ones use --method ladies-cv", o.Method)
		}
		o.Seeds = seedsGradient
	}
	switch {
	case o.Seeds == seedsUniform && fs.Changed("seeds-every"):
		return usagef("--seeds-every is for --seeds loss and --seeds gradient")
	case o.Seeds != seedsUniform && o.Micro > 1:
		this, other := "seeds "+o.Seeds, "seeds uniform"
		if !o.namesParts() && methodNamed(o.Method).GradientSeeds {
			this, other = "method "+o.Method, "method ladies-cv"
		}
		return usagef("--%s does not go with --micro %d: the next mini-batch needs the scores of this one, which another rank may have; take --%s, or --micro 1", this, o.Micro, other)
	case o.Seeds != seedsUniform && !o.namesParts() && methodNamed(o.Method).OwnOutputs:
		return usagef("--seeds %s does not go with --method %s, whose sampler draws output nodes of its own: use --seeds uniform, or another method", o.Seeds, o.Method)
	case o.Seeds != seedsUniform && o.BatchesPerEpoch == 0:
		return usagef("--seeds %s does not go with --batches-per-epoch 0, where each training node is in one mini-batch of an epoch", o.Seeds)
	}
	return nil
}

// seeds returns the Seeds of the options, nil for uniform.
func (o *trainOptions) seeds() train.Seeds {
	switch o.Seeds {
	case seedsLoss:
		return train.ImportantSeeds{By: ops.LossScore}
	case seedsGradient:
		return train.ImportantSeeds{By: ops.GradientScore}
	}
	return nil
}

func (o *trainOptions) checkAdam() error {
	for _, c := range []struct {
		name  string
		value float64
		ok    bool
		want  string
	}{
		{"lr", o.LR, o.LR > 0, "a positive number"},
		{"beta1", o.Beta1, o.Beta1 > 0 && o.Beta1 < 1, "a number between 0 and 1"},
		{"beta2", o.Beta2, o.Beta2 > 0 && o.Beta2 < 1, "a number between 0 and 1"},
		{"epsilon", o.Epsilon, o.Epsilon > 0, "a positive number"},
		{"weight-decay", o.WeightDecay, o.WeightDecay >= 0, "a positive number or 0"},
		{"clip", o.Clip, o.Clip >= 0, "a positive number or 0"},
	} {
		if !c.ok || math.IsInf(c.value, 0) {
			return usagef("--%s %v: want %s", c.name, c.value, c.want)
		}
	}
	return nil
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
	if err := o.samplingOptions.check(fs); err != nil {
		return err
	}
	if !o.namesParts() {
		method := methodNamed(o.Method)
		o.ExactInput = o.ExactInput || method.ExactInput
		if method.Controlled && !method.ExactInput && o.Conv == convGAT {
			return usagef("--method %s excludes --conv gat: attention keeps no history of activations; use another method", o.Method)
		}
		if method.Learned && o.Conv == convGAT {
			return usagef("--method %s excludes --conv gat: its sampler learns from rows that attention does not propagate; use another method", o.Method)
		}
		if method.Learned && o.EdgeDropout > 0 {
			return usagef("--method %s excludes --edge-dropout: its sampler learns from the edges that it drew", o.Method)
		}
		if method.Learned && o.ownRows() {
			return usagef("--method %s excludes %s: it is the only method whose layers need not read the nodes that they compute", o.Method, o.ownRowsOption())
		}
		if method.Learned && o.Micro > 1 {
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
	if !o.ExactInput {
		if o.controls() && o.Layers == 1 && len(o.Samples) < 2 {
			return usagef("--control %s with --layers 1: the only layer reads features, so there are no activations to keep", o.Control)
		}
		if len(o.Samples) > 1 && !fs.Changed("layers") {
			o.Layers = len(o.Samples)
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

// check returns an error for the first option with an unknown value, or for a method
// together with parts that it does not take.
func (o *samplingOptions) check(fs *pflag.FlagSet) error {
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"importance", o.Importance, samplers.ImportanceNames()},
		{"draw", o.Draw, samplers.DrawNames()},
		{"weight", o.Weight, samplers.WeightNames()},
		{"population", o.Population, []string{populationCandidates, populationNodes}},
		{"control", o.Control, samplers.ControlNames()},
		{"dropout-noise", o.DropoutNoise, samplers.DropoutNoiseNames()},
	} {
		if c.value == "" {
			continue
		}
		if err := oneOf(c.name, c.value, c.allowed); err != nil {
			return err
		}
	}
	if !o.namesParts() {
		return checkMethod("method", o.Method)
	}
	if fs.Changed("method") && !o.nodeWise() {
		return usagef("--method %s and parts of a method are both given: leave out either --method or all of --importance, --flat, --neighborhood, --draw, --weight, --population, --include-rows, --normalize-rows and --control; only --method neighbor takes parts", o.Method)
	}
	return o.checkParts()
}

func atLeast(name string, value, least int) error {
	if value < least {
		return usagef("--%s %d: want at least %d", name, value, least)
	}
	return nil
}

// within is a usage error unless a flag's value is in [least, most]. mostHidden and
// mostLayers refuse sizes that are probably typing errors, and that would exhaust the
// memory before another check refuses them.
func within(name string, value, least, most int) error {
	if value > most {
		return usagef("--%s %d: want at most %d", name, value, most)
	}
	return atLeast(name, value, least)
}

// oneOf is a usage error that lists the allowed values of a flag, unless value is one of
// them.
func oneOf(name, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("--%s %q%s; there are: %s", name, value, didYouMean(value, allowed), strings.Join(allowed, ", "))
}

// intList is a flag (pflag.Value) with whole numbers, separated by commas.
type intList []int

func (l *intList) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func (l *intList) Set(text string) error {
	var numbers []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return fmt.Errorf("%q is not a whole number in range", word)
		}
		numbers = append(numbers, n)
	}
	*l = numbers
	return nil
}

func (*intList) Type() string { return "N,..." } // pflag aligns bytes

func (l intList) check() error {
	for _, n := range l {
		if n <= 0 {
			return usagef("--samples %d: want at least 1", n)
		}
	}
	return nil
}

// repeat makes the list one number per layer: a single number is for all layers, and an
// empty list means fallback for all layers.
func (l *intList) repeat(layers, fallback int) error {
	switch {
	case len(*l) == layers:
		return nil
	case len(*l) > 1:
		return usagef("--samples %s has %d numbers for %d layers", l.String(), len(*l), layers)
	case len(*l) == 1:
		fallback = (*l)[0]
	}
	*l = slices.Repeat(intList{fallback}, layers)
	return nil
}

// evalInterval is a flag with a number of batches, or auto.
type evalInterval int

const autoInterval evalInterval = -1

// String implements pflag.Value.
func (i *evalInterval) String() string {
	if *i == autoInterval {
		return "auto"
	}
	return strconv.Itoa(int(*i))
}

// Set implements pflag.Value.
func (i *evalInterval) Set(text string) error {
	if text == "auto" {
		*i = autoInterval
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("want a whole number or auto")
	}
	if n < 1 {
		return errors.New("want at least 1, or auto")
	}
	*i = evalInterval(n)
	return nil
}

// MarshalJSON writes the number, or "auto", as the flag takes them.
func (i evalInterval) MarshalJSON() ([]byte, error) {
	if i == autoInterval {
		return []byte(`"auto"`), nil
	}
	return strconv.AppendInt(nil, int64(i), 10), nil
}

// Type implements pflag.Value.
func (*evalInterval) Type() string { return "N|auto" }

// wordList is a flag (pflag.Value) with words, separated by commas.
type wordList []string

func (l *wordList) String() string { return strings.Join(*l, ",") }

func (l *wordList) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		*l = append(*l, strings.TrimSpace(word))
	}
	return nil
}

func (*wordList) Type() string { return "NAME,..." }
