package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// samplingOptions say which sampler to build. A method's name stands for three
// parts, and each part can be given in its place.
type samplingOptions struct {
	Method     string
	Importance string // "" as the method says; so are Draw and Weight
	Flat       string // "true", "false", or "" as the method says
	Draw       string
	Weight     string
	Population string  // what the debiased weights count as n
	Samples    intList // next to the output first; none means 512 a layer
}

// trainOptions are what a training run depends on, and what its config.json
// holds, under the names of the flags.
type trainOptions struct {
	Data string
	samplingOptions

	Batch           int
	BatchesPerEpoch int
	Epochs          int
	MaxBatches      int
	EvalEvery       int
	Patience        int

	Layers     int
	Hidden     int
	Dropout    float64
	Activation string

	ClassifierDropout float64
	LayerNorm         bool
	Residual          bool

	LR          float64
	WeightDecay float64

	Seed    uint64
	Runs    int
	Workers int
	Device  string
}

const (
	defaultData    = "synth:demo"
	defaultMethod  = "ladies-flat-debiased"
	defaultSamples = 512 // a layer

	populationCandidates = "candidates"
	populationNodes      = "nodes"
)

// flags registers the options of a training run, with their defaults.
func (o *trainOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Data, "data", defaultData, "data `SPEC`; gcn datasets list shows what there is")
	o.samplingOptions.flags(fs)
	fs.IntVar(&o.Batch, "batch", 512, "training nodes per mini-batch")
	fs.IntVar(&o.BatchesPerEpoch, "batches-per-epoch", 10, "mini-batches per epoch, each of random training nodes; 0: one pass over the training nodes")
	fs.IntVar(&o.Epochs, "epochs", 0, "stop after this many epochs; 0: no such limit")
	fs.IntVar(&o.MaxBatches, "max-batches", 1000, "stop after this many mini-batches; 0: no such limit")
	fs.IntVar(&o.EvalEvery, "eval-every", 10, "score the validation nodes every so many mini-batches")
	fs.IntVar(&o.Patience, "patience", 200, "stop after this many mini-batches without a better validation score; 0: never")
	o.modelFlags(fs)
	fs.Float64Var(&o.LR, "lr", 0.001, "Adam's step size")
	fs.Float64Var(&o.WeightDecay, "weight-decay", 0, "Adam's L2 coefficient")
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of everything random")
	fs.IntVar(&o.Runs, "runs", 1, "train this many times, with seeds seed, seed+1, …")
	fs.IntVar(&o.Workers, "workers", 0, "goroutines that sample ahead; 0: one per core; results do not depend on it")
	fs.StringVar(&o.Device, "device", "cpu", "`cpu`, or cuda in a build that has it")
}

// modelFlags registers the options of the model alone.
func (o *trainOptions) modelFlags(fs *pflag.FlagSet) {
	fs.IntVar(&o.Layers, "layers", 2, "graph convolutions, before the linear classifier")
	fs.IntVar(&o.Hidden, "hidden", 256, "width of the hidden layers")
	fs.Float64Var(&o.Dropout, "dropout", 0.2, "share of hidden values dropped while training")
	fs.StringVar(&o.Activation, "activation", "elu", "`elu` or relu")
	fs.Float64Var(&o.ClassifierDropout, "classifier-dropout", 0, "share of the classifier's inputs dropped besides (the paper's authors' program: 0.2)")
	fs.BoolVar(&o.LayerNorm, "layer-norm", false, "normalise each convolution before its activation")
	fs.BoolVar(&o.Residual, "residual", false, "add a linear map of a node's own features to each convolution")
}

func (o *samplingOptions) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Method, "method", defaultMethod, "sampling method `NAME`; gcn methods lists them")
	o.partFlags(fs)
	fs.Var(&o.Samples, "samples", "nodes drawn per layer, the layer next to the output first; one number: in every layer (default 512)")
}

// partFlags registers the options that replace a method's parts.
func (o *samplingOptions) partFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Importance, "importance", "", "in place of the method's: `fastgcn` or ladies")
	fs.StringVar(&o.Flat, "flat", "", "in place of the method's: probabilities in proportion to column norms (true), or to their squares (false)")
	fs.Lookup("flat").NoOptDefVal = "true"
	fs.StringVar(&o.Draw, "draw", "", "in place of the method's: `wrs` (without replacement) or replacement")
	fs.StringVar(&o.Weight, "weight", "", "in place of the method's: `naive` or debiased")
	fs.StringVar(&o.Population, "population", populationCandidates, "the n of debiased weights: `candidates`, or nodes as the paper's authors' program")
}

// check reports the first option whose value makes no sense, and settles the
// sizes that depend on one another: samples are made one a layer.
func (o *trainOptions) check(fs *pflag.FlagSet) error {
	for _, c := range []struct {
		name  string
		value int
		least int
	}{
		{"batch", o.Batch, 1},
		{"batches-per-epoch", o.BatchesPerEpoch, 0},
		{"epochs", o.Epochs, 0},
		{"max-batches", o.MaxBatches, 0},
		{"eval-every", o.EvalEvery, 1},
		{"patience", o.Patience, 0},
		{"runs", o.Runs, 1},
	} {
		if err := atLeast(c.name, c.value, c.least); err != nil {
			return err
		}
	}
	if o.Epochs == 0 && o.MaxBatches == 0 && o.Patience == 0 {
		return usagef("--epochs, --max-batches and --patience are all 0: training would not end")
	}
	if !(o.LR > 0) || math.IsInf(o.LR, 0) {
		return usagef("--lr %v: want a positive number", o.LR)
	}
	if !(o.WeightDecay >= 0) || math.IsInf(o.WeightDecay, 0) {
		return usagef("--weight-decay %v: want a number from 0", o.WeightDecay)
	}
	if o.Seed > math.MaxUint64-uint64(o.Runs-1) {
		return usagef("--seed %d leaves no room for %d runs", o.Seed, o.Runs)
	}
	return o.checkModel(fs)
}

// checkModel is the part of check for the options of the model and its sampler.
func (o *trainOptions) checkModel(fs *pflag.FlagSet) error {
	if err := atLeast("workers", o.Workers, 0); err != nil {
		return err
	}
	switch o.Device {
	case "cpu":
	case "cuda":
		return usagef("--device cuda: this gcn was built without CUDA; use --device cpu")
	default:
		return usagef("--device %q: want cpu or cuda", o.Device)
	}
	if err := atLeast("hidden", o.Hidden, 1); err != nil {
		return err
	}
	for _, rate := range []struct {
		name  string
		value float64
	}{{"dropout", o.Dropout}, {"classifier-dropout", o.ClassifierDropout}} {
		if !(rate.value >= 0 && rate.value < 1) {
			return usagef("--%s %v: want a number in [0, 1)", rate.name, rate.value)
		}
	}
	if o.Activation != "elu" && o.Activation != "relu" {
		return usagef("--activation %q: want elu or relu", o.Activation)
	}
	if err := atLeast("layers", o.Layers, 1); err != nil {
		return err
	}
	if err := o.Samples.check(); err != nil {
		return err
	}
	if len(o.Samples) > 1 && !fs.Changed("layers") {
		o.Layers = len(o.Samples)
	}
	samples, err := o.Samples.perLayer(o.Layers)
	if err != nil {
		return err
	}
	o.Samples = samples
	return o.samplingOptions.check(fs)
}

// check reports the first option with an unknown value. Where a part is named
// and no method, probabilities are flat only if --flat says so.
func (o *samplingOptions) check(fs *pflag.FlagSet) error {
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"importance", o.Importance, []string{"", "fastgcn", "ladies"}},
		{"flat", o.Flat, []string{"", "true", "false"}},
		{"draw", o.Draw, []string{"", "wrs", "replacement"}},
		{"weight", o.Weight, []string{"", "naive", "debiased"}},
		{"population", o.Population, []string{populationCandidates, populationNodes}},
	} {
		if err := oneOf(c.name, c.value, c.allowed); err != nil {
			return err
		}
	}
	if o.Importance != "" && o.Flat == "" && !fs.Changed("method") {
		o.Flat = "false"
	}
	return checkMethod("method", o.Method)
}

func atLeast(name string, value, least int) error {
	if value < least {
		return usagef("--%s %d: want at least %d", name, value, least)
	}
	return nil
}

func oneOf(name, value string, allowed []string) error {
	var words []string
	for _, word := range allowed {
		if word == value {
			return nil
		}
		if word != "" {
			words = append(words, word)
		}
	}
	return usagef("--%s %q%s; there are: %s", name, value, didYouMean(value, words), strings.Join(words, ", "))
}

// intList is a flag of comma-separated whole numbers.
type intList []int

// String implements pflag.Value.
func (l *intList) String() string {
	words := make([]string, len(*l))
	for i, n := range *l {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// Set implements pflag.Value.
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

// Type implements pflag.Value.
func (*intList) Type() string { return "N,…" }

func (l intList) check() error {
	for _, n := range l {
		if n <= 0 {
			return usagef("--samples %d: want at least 1", n)
		}
	}
	return nil
}

// perLayer returns one number for each layer: one number given serves all.
func (l intList) perLayer(layers int) (intList, error) {
	switch {
	case len(l) == layers:
		return l, nil
	case len(l) > 1:
		return nil, usagef("--samples %s has %d numbers for %d layers", l.String(), len(l), layers)
	}
	n := defaultSamples
	if len(l) == 1 {
		n = l[0]
	}
	all := make(intList, layers)
	for i := range all {
		all[i] = n
	}
	return all, nil
}

// wordList is a flag of comma-separated words.
type wordList []string

// String implements pflag.Value.
func (l *wordList) String() string { return strings.Join(*l, ",") }

// Set implements pflag.Value.
func (l *wordList) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		*l = append(*l, strings.TrimSpace(word))
	}
	return nil
}

// Type implements pflag.Value.
func (*wordList) Type() string { return "NAME,…" }
