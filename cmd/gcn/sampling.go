package main

import (
	"cmp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/samplers"
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

func (o *samplingOptions) flags(fs *pflag.FlagSet, method string) {
	fs.StringVar(&o.Method, "method", method, "sampling method `NAME`; gcn methods lists them")
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

// fillSamples makes Samples one number per layer. If none was given it takes the method's
// defaults. It makes Samples empty for a method without sample sizes.
func (o *samplingOptions) fillSamples(layers int) error {
	if o.namesParts() && !o.nodeWise() {
		return o.Samples.repeat(layers, defaultSamples)
	}
	method := methodNamed(o.Method)
	if method.Sizes == "" {
		o.Samples = intList{}
		return nil
	}
	if len(o.Samples) == 0 && len(method.Default) == layers {
		o.Samples = method.Default
	}
	size := defaultSamples
	if len(method.Default) > 0 {
		size = method.Default[0]
	}
	return o.Samples.repeat(layers, size)
}

// checkParts reports parts that do not go together.
func (o *samplingOptions) checkParts() error {
	if name := o.layerWiseOption(); name != "" && o.nodeWise() {
		return usagef("--%s is for layer-wise methods, not for --method %s", name, o.Method)
	}
	if _, err := samplers.ParseImportance(o.importanceName(), o.Flat, o.Neighborhood); err != nil {
		return usageError{err}
	}
	draw, err := samplers.ParseDraw(cmp.Or(o.Draw, "wrs"))
	if err != nil {
		return usageError{err}
	}
	weight, err := samplers.ParseWeight(o.weightName())
	if err != nil {
		return usageError{err}
	}
	if err := weight.Check(draw); err != nil {
		return usageError{err}
	}
	if err := o.checkControl(); err != nil {
		return err
	}
	if o.Population == populationNodes && weight != (samplers.Debiased{}) {
		return usagef("--population is for debiased weights, not for %s", o.weightName())
	}
	return nil
}

// controls reports whether the options name a control variate.
func (o *samplingOptions) controls() bool {
	return o.Control != "" && o.Control != samplers.ControlNone.String()
}

// keepsHistories reports whether the options name a control variate, or a method with one.
func (o *samplingOptions) keepsHistories() bool {
	if o.namesParts() {
		return o.controls()
	}
	return methodNamed(o.Method).Controlled()
}

// refreshes reports whether activations are refreshed every --control-every mini-batches.
func (o *samplingOptions) refreshes() bool {
	if o.namesParts() {
		return o.Control == samplers.ControlRefresh.String()
	}
	return methodNamed(o.Method).Refreshed()
}

// checkControl reports parts whose estimate is biased, together with a control.
func (o *samplingOptions) checkControl() error {
	biased := o.biasedOption()
	if !o.controls() || biased == "" {
		return nil
	}
	return usagef("--control %s with %s: the estimate of these parts is biased, and the control would keep the bias on the change of the activations", o.Control, biased)
}

// biasedOption returns the option that makes the estimate of a layer-wise method's parts
// biased, or "".
func (o *samplingOptions) biasedOption() string {
	switch {
	case o.weightName() == "naive" && o.Draw != "replacement":
		return "--weight naive"
	case o.NormalizeRows:
		return "--normalize-rows"
	case o.IncludeRows:
		return "--include-rows"
	}
	return ""
}

// methodName returns the method's name, or the names of its parts if no method
// has these parts.
func (o *samplingOptions) methodName() string {
	name, own := o.Method, methodNamed(o.Method).FullDropoutNoise()
	if o.namesParts() {
		name, own = o.partsName(), false
	}
	switch full := o.DropoutNoise == samplers.DropoutNoiseFull; {
	case full && !own:
		name += "-full-noise"
	case own && o.DropoutNoise == samplers.DropoutNoiseSampled:
		name += "-sampled-noise"
	}
	return name
}

// namesParts reports whether the options name parts, of a layer-wise method or, with
// nodeWise, of a node-wise one.
func (o *samplingOptions) namesParts() bool {
	return o.Importance != "" || o.Flat || o.Draw != "" || o.Weight != "" ||
		o.layerWiseOption() != ""
}

// nodeWise reports whether each row draws for itself: --method neighbor, which parts
// may change.
func (o *samplingOptions) nodeWise() bool { return o.Method == nodeWiseMethod }

// layerWiseOption returns the first option given that only layer-wise methods have, or
// "".
func (o *samplingOptions) layerWiseOption() string {
	switch {
	case o.Neighborhood:
		return "neighborhood"
	case o.Population == populationNodes:
		return "population"
	case o.IncludeRows:
		return "include-rows"
	case o.NormalizeRows:
		return "normalize-rows"
	case o.Control != "":
		return "control"
	}
	return ""
}

// importanceName returns the name of the importance in use: the given one, else the
// method's own.
func (o *samplingOptions) importanceName() string {
	if o.nodeWise() {
		return cmp.Or(o.Importance, "uniform")
	}
	return cmp.Or(o.Importance, "ladies")
}

// partsName returns the name of the method that has the named parts, or a name
// made of the parts.
func (o *samplingOptions) partsName() string {
	draw, weight := cmp.Or(o.Draw, "wrs"), o.weightName()
	name := o.importanceName()
	switch {
	case o.nodeWise() && name == "ladies":
		name = nodeWiseMethod
	case o.nodeWise():
		name = nodeWiseMethod + "-" + name
	}
	if o.Flat {
		name += "-flat"
	}
	if o.Neighborhood {
		name += "-neighborhood"
	}
	switch {
	case draw == "wrs" && weight == "debiased":
		name += "-debiased"
	case draw != "wrs" || weight != "naive":
		name += "-" + draw + "-" + weight
	}
	for _, option := range []struct {
		given bool
		word  string
	}{{o.Population == populationNodes, "-nodes"}, {o.IncludeRows, "-rows"}, {o.NormalizeRows, "-normalized"}, {o.controls(), "-" + o.Control}} {
		if option.given {
			name += option.word
		}
	}
	return name
}

// weightName returns the name of the weight in use: the given one, else the
// draw's own.
func (o *samplingOptions) weightName() string {
	if o.Weight != "" {
		return o.Weight
	}
	draw, err := samplers.ParseDraw(cmp.Or(o.Draw, "wrs"))
	if err != nil {
		return ""
	}
	for _, name := range samplers.WeightNames() {
		if weight, err := samplers.ParseWeight(name); err == nil && weight == samplers.DefaultWeight(draw) {
			return name
		}
	}
	return ""
}
