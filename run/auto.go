package run

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

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
	var values []Value
	bytes := 4 * int64(data.Nodes()) * int64(data.Features.Cols+(j.Layers-1)*j.Hidden)
	switch {
	case j.Settings.Samples.Auto():
		var err error
		if values, err = j.advise(ctx, data, progress); err != nil {
			return err
		}
	case j.Default && j.Method.Name == DefaultMethod && bytes > most:
		values = j.withoutHistories(bytes)
	default:
		return nil
	}
	s := j.Settings
	values = append(values, Value{Option: "layers", Text: strconv.Itoa(j.Layers)})
	if err := s.Set(values...); err != nil {
		return err
	}
	p, err := s.Plan()
	if err != nil {
		return err
	}
	p.GPU, p.Exact = j.GPU, j.Exact
	j.Plan = p
	return nil
}

// withoutHistories returns the paper's method and its samples, in place of the default one, which
// would keep that many bytes.
func (j *Job) withoutHistories(bytes int64) []Value {
	j.Say("%s would keep %s of P·X and histories of activations, so the method is %s; --method %s takes it all the same",
		DefaultMethod, Megabytes(bytes), PaperMethod, DefaultMethod)
	values := []Value{{Option: "method", Text: PaperMethod}}
	samples := j.Settings.Samples
	if n := len(samples); n > 1 && n < j.Layers && !j.Settings.ExactInput { // the input is sampled, too
		samples = append(slices.Clone(samples), samples[n-1])
		values = append(values, Value{Option: "samples", Text: samples.String()})
	}
	return values
}

// advise returns the samples, and the method and exact input if no method was given. It measures
// the errors of one propagation, and then trains the candidates of gcn study advise for a few
// mini-batches; of a method that was given it measures the errors only.
func (j *Job) advise(ctx context.Context, data *datasets.Data, progress func(done, total int)) ([]Value, error) {
	products, err := RandomProduct(data, j.Seed)
	if err != nil {
		return nil, err
	}
	what := study.Advise{
		Laplacian: data.Laplacian(),
		Nodes:     data.Split.Train,
		Products:  products,
		Layers:    j.SampledLayers(),
		Batch:     j.Batch,
		Seed:      j.Seed,
	}
	if !j.Default {
		what.Methods = []string{j.Method.Name}
	}
	j.Say("--samples auto: measuring the errors of sample sizes on %s", j.Data)
	advice, err := what.Run(ctx)
	if err != nil {
		return nil, err
	}
	if !j.Default {
		return j.take(j.Method.Name, sizesOf(advice), j.ExactInput), nil
	}
	if Triable(data, j.Layers) && j.Conv != gat && j.InputDropout == 0 {
		candidates := study.DefaultCandidates(advice, j.Layers, j.Batch, j.ExactInput)
		j.Say("--samples auto: training %d candidates for %d mini-batches each", len(candidates), adviceBatches)
		trials, err := study.Trials{
			Data:       data,
			Candidates: candidates,
			Layers:     j.Layers,
			Hidden:     j.Hidden,
			Batch:      j.Batch,
			Batches:    adviceBatches,
			Seed:       j.Seed,
			Progress:   progress,
		}.Run(ctx)
		if err != nil {
			return nil, err
		}
		advice.Take(trials)
	}
	return j.take(advice.Method, advice.Samples, j.ExactInput || advice.ExactInput), nil
}

// sizesOf returns the samples of an advice. If it advises the full method, it has no samples: then
// these are the samples measured for each layer.
func sizesOf(advice *study.Advice) Sizes {
	if len(advice.Samples) > 0 {
		return advice.Samples
	}
	var samples Sizes
	for _, layer := range advice.Layers {
		samples = append(samples, layer.Samples)
	}
	return samples
}

// take prints the advice and returns its options: the samples alone if a method was given.
func (j *Job) take(method string, samples Sizes, exact bool) []Value {
	text := MethodText(method, samples)
	if m, err := ParseMethod(method); err == nil && exact && !m.ExactInput {
		text += ", --exact-input"
	}
	j.Say("--samples auto: %s; gcn study advise gives the reasons", text)
	values := []Value{{Option: "samples", Text: samples.String()}}
	if j.Default {
		values = append(values, Value{Option: "method", Text: method}, Value{Option: "exact_input", Text: strconv.FormatBool(exact)})
	}
	return values
}

// MethodText is a method with its sample sizes, for messages and tables.
func MethodText(method string, samples Sizes) string {
	if len(samples) == 0 {
		return method
	}
	return method + ", samples " + samples.String()
}

// Triable reports whether trials can be trained and scored.
func Triable(data *datasets.Data, layers int) bool {
	return layers > 1 && len(data.Split.Valid) > 0
}

// RandomProduct returns HW of the features and a random weight. A few columns give the norms
// to within some per cent.
func RandomProduct(data *datasets.Data, seed uint64) ([]*graph.Features, error) {
	const columns = 64
	x := data.Features
	weight := make([]float32, x.Cols*columns)
	layers.GlorotUniform(rand.New(samplers.NewSource(seed, 0, 0)), x.Cols, columns, weight, nil)
	hw, err := study.Product(x, weight)
	return []*graph.Features{hw}, err
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
	if len(p.Samples) == 0 || p.ExactInput || p.Conv == gat || !measured || p.Layers*p.Hidden*data.Nodes() > most {
		return ""
	}
	relative, err := study.Advise{
		Laplacian: data.Laplacian(),
		Nodes:     data.Split.Train,
		Batch:     p.Batch,
		Seed:      p.Seed,
	}.Errors(ctx, p.Method.Name, p.Samples, func(layer int, nodes []int32) (*graph.Features, error) {
		return study.LayerProduct(ctx, model, data.Laplacian(), data.Features, p.Layers-1-layer, nodes)
	})
	product := 1.0
	for _, e := range relative {
		product *= e
	}
	if err != nil || product <= fewSamples {
		return ""
	}
	return fmt.Sprintf("samples %s are few for this graph: the layers' errors together are %.1f times the signal, which costs accuracy; --samples auto takes more", p.Samples, product)
}
