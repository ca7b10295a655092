package main

import (
	"context"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/study"
)

// samplesFlag is the flag --samples: numbers, or auto for the advice of gcn study advise.
type samplesFlag struct{ o *samplingOptions }

const autoSamples = "auto"

// String implements pflag.Value.
func (f samplesFlag) String() string {
	switch {
	case f.o == nil:
		return ""
	case f.o.Auto:
		return autoSamples
	}
	return f.o.Samples.String()
}

// Set implements pflag.Value.
func (f samplesFlag) Set(text string) error {
	if f.o.Auto = text == autoSamples; f.o.Auto {
		f.o.Samples = nil
		return nil
	}
	return f.o.Samples.Set(text)
}

// Type implements pflag.Value.
func (f samplesFlag) Type() string { return f.o.Samples.Type() }

// checkAuto notes that --samples is auto, and returns an error if the advice cannot choose
// samples for the method. The samples stay empty until the data are known.
func (j *trainJob) checkAuto() error {
	if j.auto = j.Auto; !j.auto {
		return nil
	}
	j.Auto = false
	if !j.fs.Changed("method") && !j.namesParts() {
		j.Method = paperMethod // until the advice
	}
	if j.namesParts() {
		return usagef("--samples auto chooses for a method by its name: give numbers with --importance, --draw and the other parts of a method")
	}
	if known := study.LayerWiseMethods(); j.fs.Changed("method") && !slices.Contains(known, j.Method) {
		return usagef("--samples auto chooses for layer-wise methods, not for %s; there are: %s", j.Method, strings.Join(known, ", "))
	}
	return nil
}

// adviseSamples chooses the samples, and the method and exact input unless they were given.
func (j *trainJob) adviseSamples(ctx context.Context, data *datasets.Data) error {
	products, err := randomProduct(data, j.Seed)
	if err != nil {
		return err
	}
	what := study.Advise{
		Laplacian: data.Laplacian(), Nodes: data.Split.Train, Products: products,
		Layers: j.sampledLayers(), Batch: j.Batch, Seed: j.Seed,
	}
	given := j.fs.Changed("method")
	changes := study.SamplesChange(j.Method)
	if given && !changes {
		what.Methods = []string{j.Method}
	}
	j.say("--samples auto: measuring the errors of sample sizes on %s", j.Data)
	advice, err := what.Run(ctx)
	if err != nil {
		return err
	}
	switch {
	case given && !changes:
	case !triable(data, j.Layers) || j.Conv == convGAT || j.InputDropout > 0:
	default:
		if err := j.tryCandidates(ctx, data, advice, given); err != nil {
			return err
		}
	}
	j.Samples = append(intList{}, advice.Samples...) // not null in config.json
	if !given {
		j.Method, j.ExactInput = advice.Method, j.ExactInput || advice.ExactInput
	} else if len(j.Samples) == 0 { // full is as cheap, but the method was given
		for _, layer := range advice.Layers {
			j.Samples = append(j.Samples, layer.Samples)
		}
	}
	text := methodText(j.Method, j.Samples)
	if j.ExactInput && !methodNamed(j.Method).ExactInput {
		text += ", --exact-input"
	}
	j.say("--samples auto: %s; gcn study advise gives the reasons", text)
	return nil
}

// tryCandidates trains the candidates of gcn study advise for a few mini-batches, and makes
// the best one the advice. For a method that was given, it tries sizes of this method only.
func (j *trainJob) tryCandidates(ctx context.Context, data *datasets.Data, advice *study.Advice, given bool) error {
	candidates := study.DefaultCandidates(advice, j.Layers, j.Batch, j.ExactInput)
	if given {
		candidates = slices.DeleteFunc(candidates, func(c study.Candidate) bool { return c.Method != "full" && c.Method != j.Method })
	}
	j.say("--samples auto: training %d candidates for %d mini-batches each", len(candidates), adviceBatches)
	var progress func(done, total int)
	if !j.Quiet {
		progress = everySeconds(j.stderr, "mini-batches of the candidates")
	}
	trials, err := study.Trials{
		Data: data, Candidates: candidates, Layers: j.Layers, Hidden: j.Hidden, Batch: j.Batch, Batches: adviceBatches, Seed: j.Seed,
		Progress: progress,
	}.Run(ctx)
	if err != nil {
		return err
	}
	if given { // full was the reference only
		trials = slices.DeleteFunc(trials, func(t study.Trial) bool { return t.Method == "full" })
	}
	if study.Recommended(trials, 0) < 0 && len(trials) > 0 { // none is near the reference: the largest samples
		advice.Samples = trials[len(trials)-1].Samples
		return nil
	}
	advice.Take(trials)
	return nil
}

// fewSamples is the product of the layers' errors, over their signals, above which the
// samples are far too few. With 512 a layer it is 1.6 on synth:demo, where training loses
// 1 point of accuracy, and 2.0 on synth:arxiv, where it loses 23.
const fewSamples = 1.8

// warnOfFewSamples says in one line if the samples were far too few for the trained model,
// by the errors of four mini-batches. It says nothing if the graph is very large, or if the
// model has exact input, a control or attention, whose errors are others.
func (j *trainJob) warnOfFewSamples(ctx context.Context, model *layers.GCN, data *datasets.Data) {
	const most = 1e8 // numbers in the products of all nodes
	if j.Quiet || len(j.Samples) == 0 || j.ExactInput || j.Conv == convGAT || j.namesParts() || !slices.Contains(study.LayerWiseMethods(), j.Method) ||
		j.Layers*j.Hidden*data.Nodes() > most {
		return
	}
	layerErrors, err := study.Advise{
		Laplacian: data.Laplacian(), Nodes: data.Split.Train, Batch: j.Batch, Seed: j.Seed,
	}.Errors(ctx, j.Method, j.Samples, func(layer int, nodes []int32) (*graph.Features, error) {
		return study.ProductRows(ctx, model, data.Laplacian(), data.Features, j.Layers-1-layer, nodes)
	})
	if err != nil {
		return
	}
	product := 1.0
	for _, e := range layerErrors {
		product *= e
	}
	if product > fewSamples {
		j.say("samples %s are few for this graph: the layers' errors together are %.1f times the signal, which costs accuracy; --samples auto takes more", j.Samples.String(), product)
	}
}
