package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// adviceBatches is the number of mini-batches of a trial of the advice.
const adviceBatches = 200

// Resolve gives the job a plan with the method and the samples that the data ask for: the advice
// for samples auto, and the paper's method if none was given and the default one would keep more
// than most bytes of P·X and of histories. progress counts the mini-batches of the advice.
func (j *Job) Resolve(ctx context.Context, data *datasets.Data, most int64, progress func(done, total int)) error {
	options := map[string]string{"layers": strconv.Itoa(j.Layers)}
	bytes := 4 * int64(data.Nodes()) * int64(data.Features.Cols+(j.Layers-1)*j.Hidden)
	s := j.Settings
	switch {
	case s.Samples.Auto():
		if err := j.advise(ctx, data, options, progress); err != nil {
			return err
		}
	case j.Default && j.Method.Name == DefaultMethod && bytes > most:
		j.Say("%s would keep %s of P·X and histories of activations, so the method is %s; --method %s takes it all the same",
			DefaultMethod, Bytes(bytes), PaperMethod, DefaultMethod)
		options["method"] = PaperMethod
		if n := len(s.Samples); n > 1 && n < j.Layers && !s.ExactInput { // the input is sampled, too
			options["samples"] = fmt.Sprint(s.Samples, ",", s.Samples[n-1])
		}
	default:
		return nil
	}
	var values []Value
	for name, text := range options {
		values = append(values, Value{Option: name, Text: text})
	}
	return j.Take(values)
}

// Take gives the job a plan with further values of options.
func (j *Job) Take(values []Value) error {
	s := j.Settings
	if err := s.Set(values...); err != nil {
		return err
	}
	p, err := s.Plan()
	if err == nil {
		p.GPU, p.Exact = j.GPU, j.Exact
		j.Plan = p
	}
	return err
}

// LeastBatches is the least number of updates that --max-batches auto chooses, and autoPasses the
// number of passes over the training nodes. --patience auto is leastPatience updates, by
// docs/measurements.md too; with updates of fewer than 1024 nodes it has as many passes.
const (
	LeastBatches  = 3250
	autoPasses    = 65
	leastPatience = 800
)

// ChooseLimits replaces --max-batches auto and --patience auto by numbers of updates. With --epochs
// there is no limit but the epochs. A method that draws output nodes of its own has no passes.
func (p *Plan) ChooseLimits(data *datasets.Data) {
	if p.Patience < 0 {
		p.Patience = max(leastPatience, leastPatience*min(1024, len(data.Split.Train))/p.Batch/p.Micro)
	}
	switch {
	case p.MaxBatches >= 0:
	case p.Epochs > 0:
		p.MaxBatches = 0
	case p.Method.OwnOutputs():
		p.MaxBatches = LeastBatches
	default:
		p.MaxBatches = max(LeastBatches, autoPasses*len(data.Split.Train)/p.Batch/p.Micro)
	}
}

// advise sets the samples, the method and exact input. It measures the errors of one propagation,
// and then trains the candidates of gcn study advise for a few mini-batches; of a method that was
// given it measures the errors only, and chooses the samples only.
func (j *Job) advise(ctx context.Context, data *datasets.Data, options map[string]string, progress func(done, total int)) error {
	what := study.Advise{Layers: j.SampledLayers(), Batch: j.Batch, Seed: j.Seed}
	trials := study.Trials{Layers: j.Layers, Hidden: j.Hidden, Progress: progress}
	if !j.Default {
		what.Methods = []string{j.Method.Name}
	}
	training := ""
	if j.Default && j.Conv != gat && j.InputDropout == 0 && j.Layers > 1 && len(data.Split.Valid) > 0 {
		trials.Batches = adviceBatches
		training = fmt.Sprintf(", and training candidates for %d mini-batches each", adviceBatches)
	}
	j.Say("--samples auto: measuring the errors of sample sizes on %s%s", j.Data, training)
	advice, err := Advice(ctx, data, what, trials, j.ExactInput)
	if err != nil {
		return err
	}
	method, samples, exact := advice.Method, Sizes(advice.Samples), j.ExactInput || advice.ExactInput
	if !j.Default { // the advice may be the method full, without samples
		method, samples = j.Method.Name, nil
		for _, layer := range advice.Layers {
			samples = append(samples, layer.Samples)
		}
	}
	j.Say("--samples auto: %s, exact input %v; gcn study advise gives the reasons", MethodText(method, samples), exact)
	options["samples"] = samples.String()
	options["method"] = method
	options["exact_input"] = strconv.FormatBool(exact)
	return nil
}

// MethodText is a method with its sample sizes, for messages and tables.
func MethodText(method string, samples Sizes) string {
	return strings.TrimSuffix(method+", samples "+samples.String(), ", samples ")
}

// Advice measures the errors of sample sizes on data, and compares the candidates of gcn study
// advise, unless their trials have no mini-batches or the data no validation nodes. Without Products
// it takes one of a random weight.
func Advice(ctx context.Context, data *datasets.Data, what study.Advise, trials study.Trials, exact bool) (*study.Advice, error) {
	what.Laplacian, what.Nodes = data.Laplacian(), data.Split.Train
	if what.Products == nil {
		product, err := RandomProduct(data, fewColumns, what.Seed)
		if err != nil {
			return nil, err
		}
		what.Products = []*graph.Features{product}
	}
	advice, err := what.Run(ctx)
	if err != nil || trials.Batches == 0 || trials.Layers == 1 || len(data.Split.Valid) == 0 {
		return advice, err
	}
	trials.Data, trials.Batch, trials.Seed = data, what.Batch, what.Seed
	trials.Candidates = study.DefaultCandidates(advice, trials.Layers, what.Batch, exact)
	outcome, err := trials.Run(ctx)
	if err == nil {
		advice.Take(outcome)
	}
	return advice, err
}

// fewColumns is a number of columns of the random weight that gives the norms of HW to within some
// per cent.
const fewColumns = 64

// RandomProduct returns the product HW of the features and a random weight.
func RandomProduct(data *datasets.Data, columns int, seed uint64) (*graph.Features, error) {
	x := data.Features
	weight := make([]float32, x.Cols*columns)
	layers.GlorotUniform(rand.New(samplers.NewSource(seed, 0, 0)), x.Cols, columns, weight, nil)
	return study.Product(x, weight)
}

// fewSamples is the product of the layers' errors, over their signals, above which the
// samples are far too few. With 512 a layer it is 1.6 on synth:demo, where training loses
// 1 point of accuracy, and 2.0 on synth:arxiv, where it loses 23.
const fewSamples = 1.8

// FewSamples says in one line if the samples were far too few for the trained model, by the
// errors of four mini-batches. It is "" if the graph is very large, or if the model has exact
// input, a control or attention, whose errors are others.
func (p *Plan) FewSamples(ctx context.Context, model *layers.GCN, data *datasets.Data) string {
	const most = 1e8 // numbers in the products of all nodes
	measured := slices.Contains(study.LayerWiseMethods(), p.Method.String())
	if !measured || p.ExactInput || p.Conv == gat || p.Layers*p.Hidden*data.Nodes() > most {
		return ""
	}
	advice, err := study.Advise{
		Laplacian: data.Laplacian(), Nodes: data.Split.Train, Methods: []string{p.Method.Name},
		Layers: len(p.Samples), Samples: p.Samples, Batch: p.Batch, Repeats: 4, Seed: p.Seed,
		Product: func(layer int, nodes []int32) (*graph.Features, error) {
			return study.LayerProduct(ctx, model, data.Laplacian(), data.Features, p.Layers-1-layer, nodes)
		},
	}.Run(ctx)
	if err != nil {
		return ""
	}
	product := 1.0
	for _, layer := range advice.Layers {
		product *= layer.Relative
	}
	if product <= fewSamples {
		return ""
	}
	return fmt.Sprintf("samples %s are few for this graph: the layers' errors together are %.1f times the signal, which costs accuracy; --samples auto takes more", p.Samples, product)
}
