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

// NeedsData reports whether the data have a part in the choice of the method or the samples.
func (p *Plan) NeedsData() bool {
	return p.Settings.Samples.Auto() || p.Default && p.Method.Name == DefaultMethod
}

// Resolve returns the plan with the method and the samples that the data ask for: the advice
// for samples auto, and the paper's method where the default one would keep more than most
// bytes of P·X and of histories.
func (j *Job) Resolve(ctx context.Context, data *datasets.Data, most int64, progress func(done, total int)) error {
	s := j.Settings
	bytes := 4 * int64(data.Nodes()) * int64(data.Features.Cols+(j.Layers-1)*j.Hidden)
	switch {
	case s.Samples.Auto():
		if err := j.advise(ctx, data, &s, progress); err != nil {
			return err
		}
	case !j.Default || j.Method.Name != DefaultMethod || bytes <= most:
		return nil
	default:
		j.Say("%s would keep %s of P·X and histories of activations, so the method is %s; --method %s takes it all the same",
			DefaultMethod, Megabytes(bytes), PaperMethod, DefaultMethod)
		values := []Value{{Option: "method", Text: PaperMethod}}
		if n := len(s.Samples); n > 1 && n < j.Layers && !s.ExactInput { // the input is sampled, too
			values = append(values, Value{Option: "samples", Text: append(slices.Clone(s.Samples), s.Samples[n-1]).String()})
		}
		if err := s.Set(values...); err != nil {
			return err
		}
	}
	if err := s.Set(Value{Option: "layers", Text: strconv.Itoa(j.Layers)}); err != nil {
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

// advise chooses the samples, and the method and exact input unless they were given.
func (j *Job) advise(ctx context.Context, data *datasets.Data, s *Settings, progress func(done, total int)) error {
	products, err := RandomProduct(data, j.Seed)
	if err != nil {
		return err
	}
	what := study.Advise{
		Laplacian: data.Laplacian(), Nodes: data.Split.Train, Products: products,
		Layers: j.SampledLayers(), Batch: j.Batch, Seed: j.Seed,
	}
	changes := study.SamplesChange(j.Method.Name)
	if !j.Default && !changes {
		what.Methods = []string{j.Method.Name}
	}
	j.Say("--samples auto: measuring the errors of sample sizes on %s", j.Data)
	advice, err := what.Run(ctx)
	if err != nil {
		return err
	}
	if (j.Default || changes) && Triable(data, j.Layers) && j.Conv != gat && j.InputDropout == 0 {
		if err := j.tryCandidates(ctx, data, advice, progress); err != nil {
			return err
		}
	}
	samples := Sizes(advice.Samples)
	var values []Value
	if j.Default {
		values = append(values, Value{Option: "method", Text: advice.Method})
		if advice.ExactInput && !s.ExactInput {
			values = append(values, Value{Option: "exact_input", Text: "true"})
		}
	} else if len(samples) == 0 { // full is as cheap, but the method was given
		for _, layer := range advice.Layers {
			samples = append(samples, layer.Samples)
		}
	}
	if err := s.Set(append(values, Value{Option: "samples", Text: samples.String()})...); err != nil {
		return err
	}
	text := MethodText(s.Method, s.Samples)
	if m, err := ParseMethod(s.Method); err == nil && s.ExactInput && !m.ExactInput {
		text += ", --exact-input"
	}
	j.Say("--samples auto: %s; gcn study advise gives the reasons", text)
	return nil
}

// MethodText is a method with its sample sizes, for messages and tables.
func MethodText(method string, samples Sizes) string {
	if len(samples) == 0 {
		return method
	}
	return method + ", samples " + samples.String()
}

// tryCandidates trains the candidates of gcn study advise for a few mini-batches, and makes
// the best one the advice. For a method that was given, it tries sizes of this method only.
func (j *Job) tryCandidates(ctx context.Context, data *datasets.Data, advice *study.Advice, progress func(done, total int)) error {
	candidates := study.DefaultCandidates(advice, j.Layers, j.Batch, j.ExactInput)
	if !j.Default {
		candidates = slices.DeleteFunc(candidates, func(c study.Candidate) bool { return c.Method != "full" && c.Method != j.Method.Name })
	}
	j.Say("--samples auto: training %d candidates for %d mini-batches each", len(candidates), adviceBatches)
	trials, err := study.Trials{
		Data: data, Candidates: candidates, Layers: j.Layers, Hidden: j.Hidden, Batch: j.Batch, Batches: adviceBatches, Seed: j.Seed,
		Progress: progress,
	}.Run(ctx)
	if err != nil {
		return err
	}
	if !j.Default { // full was the reference only
		trials = slices.DeleteFunc(trials, func(t study.Trial) bool { return t.Method == "full" })
		if len(trials) > 0 { // if none is near the reference
			advice.Samples = trials[len(trials)-1].Samples
		}
	}
	advice.Take(trials)
	return nil
}

// Triable reports whether trials can be trained and scored.
func Triable(data *datasets.Data, layers int) bool { return layers > 1 && len(data.Split.Valid) > 0 }

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
	if len(p.Samples) == 0 || p.ExactInput || p.Conv == gat || !slices.Contains(study.LayerWiseMethods(), p.Method.String()) ||
		p.Layers*p.Hidden*data.Nodes() > most {
		return ""
	}
	products, _ := study.Products(ctx, model, data.Laplacian(), data.Features) // without them, Errors fails
	layerErrors, err := study.Advise{
		Laplacian: data.Laplacian(), Products: products, Nodes: data.Split.Train, Batch: p.Batch, Seed: p.Seed,
	}.Errors(ctx, p.Method.Name, p.Samples)
	product := 1.0
	for _, e := range layerErrors {
		product *= e
	}
	if err != nil || product <= fewSamples {
		return ""
	}
	return fmt.Sprintf("samples %s are few for this graph: the layers' errors together are %.1f times the signal, which costs accuracy; --samples auto takes more", p.Samples, product)
}
