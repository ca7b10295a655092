package main

import (
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/train"
)

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
	defaultMethod  = "ladies-cv"
	paperMethod    = "ladies-flat-debiased" // the default where a model keeps no histories
	nodeWiseMethod = "neighbor"             // the method that takes parts
	defaultSamples = 512                    // a layer

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
	o.samplingOptions.flags(fs, defaultMethod)
	fs.Lookup("method").Usage += "; " + paperMethod + " where the model keeps no histories, or too large ones"
	fs.Lookup("samples").Usage += "; auto: as gcn study advise recommends"
	fs.IntVar(&o.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&o.Micro, "micro", 1, "mini-batches of an update, shared by MPI ranks; limits and intervals then count updates")
	fs.IntVar(&o.BatchesPerEpoch, "batches-per-epoch", 10, "mini-batches of random training nodes per epoch; 0: one pass over all training nodes")
	fs.StringVar(&o.Seeds, "seeds", seedsUniform, "probabilities of the training nodes: uniform, or by their last loss or gradient, with debiased weights; mvs: gradient unless given")
	fs.IntVar(&o.SeedsEvery, "seeds-every", 50, "with --seeds loss or gradient: mini-batches between two updates")
	fs.IntVar(&o.Epochs, "epochs", 0, "stop after this many epochs of --batches-per-epoch mini-batches; 0: no limit")
	fs.IntVar(&o.MaxBatches, "max-batches", 2000, "stop after this many mini-batches; 0: no limit")
	o.EvalEvery = autoInterval
	fs.Var(&o.EvalEvery, "eval-every", "mini-batches between two validation scores; auto: the scores are about a quarter of the work")
	fs.IntVar(&o.EvalSamples, "eval-samples", 0, "score a sample of `N` validation and N test nodes, drawn once, in place of all: the scores, and the choice of the best weights, are then estimates, printed with their standard errors (0: all nodes)")
	fs.IntVar(&o.Patience, "patience", 500, "stop after this many mini-batches without a better validation score; 0: no limit")
	fs.IntVar(&o.ControlEvery, "control-every", 50, "with --control refresh, ladies-cv or mvs: mini-batches between two refreshes")
	o.modelFlags(fs)
	fs.Float64Var(&o.LR, "lr", 0.03, "Adam's step size")
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
	if err := o.scheduleOptions.check(fs, o.WeightDecay, o.MaxBatches, o.epochUpdates()); err != nil {
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

// epochUpdates returns the updates of all epochs, which are their mini-batches if --micro is
// 1: 0 without a limit of epochs, and math.MaxInt if the number is too large for an int or
// depends on the data.
func (o *trainOptions) epochUpdates() int {
	switch {
	case o.Epochs == 0:
		return 0
	case o.BatchesPerEpoch == 0 || o.Epochs > math.MaxInt/o.BatchesPerEpoch:
		return math.MaxInt
	}
	return (o.Epochs*o.BatchesPerEpoch-1)/o.Micro + 1
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
	case o.Seeds != seedsUniform && !o.namesParts() && methodNamed(o.Method).OwnOutputs():
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
