package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Open opens the device. It stays open until the process ends.
func (p *Plan) Open() (err error) {
	if p.GPU, err = ops.OpenDevice(p.Device); err == nil {
		return nil
	}
	err = p.refuse("device", " %s: %w; or use --device cpu", p.Device, err)
	if ops.CUDA { // the option is right, and this its error without the option
		err = errors.Unwrap(err)
	}
	return err
}

// Propagate computes P·X of the data with exact input, unless it is there already. It calls
// progress, if not nil, with the rows done and their number.
func (p *Plan) Propagate(ctx context.Context, data *datasets.Data, progress func(done, rows int)) (err error) {
	if p.ExactInput && p.Exact == nil {
		p.Exact, err = layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, progress)
	}
	return err
}

// NewModel builds the model and its sampler over data, in an expression graph of its own.
func (p *Plan) NewModel(ctx context.Context, data *datasets.Data) (*layers.GCN, error) {
	if err := p.Propagate(ctx, data, nil); err != nil {
		return nil, err
	}
	sampler, err := p.Sampler(data)
	if err != nil {
		return nil, err
	}
	o := p.modelOptions()
	if p.ClassWeights != none {
		if data.Labels.Tasks > 0 {
			return nil, p.refuse("class_weights", " %s: the labels are %d binary tasks, want classes", p.ClassWeights, data.Labels.Tasks)
		}
		o.ClassWeights = balancedWeights(data)
	}
	m, err := layers.NewGCN(layers.NewBatch(G.NewGraph(), sampler), data.Features, data.Labels, o)
	if err == nil {
		m.Device = p.GPU
	}
	return m, err
}

// Sampler builds the sampler over data.
func (p *Plan) Sampler(data *datasets.Data) (samplers.Sampler, error) {
	fresh, err := ParseMethod(p.Method.String()) // a sampler has one graph
	if err != nil {
		return nil, err
	}
	return samplers.Configure(fresh.Sampler, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Features: data.Features, Layers: p.SampledLayers(), Sizes: p.Samples,
		ExactInput: p.ExactInput, KeepSelf: p.first("conv", "own_state", "hidden_residual") != "",
	})
}

// modelOptions returns the options of the model, except those that follow from the data.
func (p *Plan) modelOptions() layers.GCNOptions {
	o := layers.GCNOptions{
		Form:       map[string]layers.Form{equation: layers.FormEquation}[p.Model],
		Hidden:     p.Hidden,
		Residual:   p.Residual,
		Seed:       p.Seed,
		Activation: ops.Activations()[slices.IndexFunc(ops.Activations(), func(a ops.Activation) bool { return a.String() == p.Activation })],
		// 0 means none here, and the default there.
		Dropout:           cmp.Or(p.Dropout, layers.NoDropout),
		ClassifierDropout: cmp.Or(p.ClassifierDropout, layers.NoDropout),
		InputDropout:      p.InputDropout,
		ExactInput:        p.Exact,
		ControlHalf:       p.Method.Half,
		ControlLinear:     p.Linear,
		BiasAfter:         p.BiasAfter,
		HiddenResidual:    layers.Residual(slices.Index(layers.ResidualNames(), p.HiddenResidual)),
		PreNorm:           p.PreNorm,
		FeedForward:       p.FeedForward,
		OwnState:          p.OwnState,
		InputLayer:        p.InputLayer,
		LabelSmoothing:    p.LabelSmoothing,
	}
	switch {
	case p.LayerNorm:
		o.Norm = layers.NormLayer
	case p.BatchNorm:
		o.Norm = layers.NormBatch
	}
	if p.Conv == gat {
		o.Heads, o.OutputHeads, o.AttentionDropout, o.PlainAttention = p.Heads, p.OutputHeads, p.AttentionDropout, p.PlainAttention
	}
	return o
}

// balancedWeights returns n/(C·n_c) for each of C classes with n_c of the n labelled training
// nodes; a class without any gets 0.
func balancedWeights(data *datasets.Data) []float32 {
	counts, total := ClassCounts(data.Labels, data.Split.Train), 0
	for _, n := range counts {
		total += n
	}
	weights := make([]float32, len(counts))
	for c, n := range counts {
		if n > 0 {
			weights[c] = float32(float64(total) / float64(len(counts)*n))
		}
	}
	return weights
}

// ClassCounts returns how many of the nodes are of each class.
func ClassCounts(y *graph.Labels, nodes []int32) []int {
	counts := make([]int, y.Classes)
	for _, v := range nodes {
		if c := y.Class[v]; c >= 0 {
			counts[c]++
		}
	}
	return counts
}

// Fit returns the options of train.Fit, with the settings as its Config. There 0 means the
// default, so a limit of 0 becomes Unlimited or OnePass. ChooseLimits comes first.
func (p *Plan) Fit() train.Options {
	return train.Options{
		Adam: train.Adam{
			LR:             p.LR,
			Beta1:          p.Beta1,
			Beta2:          p.Beta2,
			Epsilon:        p.Epsilon,
			WeightDecay:    p.WeightDecay,
			Clip:           p.Clip,
			DecoupledDecay: p.DecoupledDecay,
		},
		Schedule:           p.Schedule,
		Batch:              p.Batch,
		Micro:              p.Micro,
		BatchesPerEpoch:    cmp.Or(p.BatchesPerEpoch, train.OnePass),
		MaxBatches:         cmp.Or(p.MaxBatches, train.Unlimited),
		Epochs:             cmp.Or(p.Epochs, train.Unlimited),
		EvalEvery:          p.EvalEvery,
		Patience:           cmp.Or(p.Patience, train.Unlimited),
		EvalSamples:        p.EvalSamples,
		ControlEvery:       p.Method.Every,
		SeedsEvery:         p.SeedsEvery,
		Workers:            p.Workers,
		Seed:               p.Seed,
		CheckpointInterval: max(time.Duration(p.CheckpointInterval*float64(time.Second)), 1), // 0 would mean the default
		EdgeDropout:        p.EdgeDropout,
		Seeds:              map[string]ops.Score{"loss": ops.LossScore, "gradient": ops.GradientScore}[p.Seeds],
		Config:             p.config(),
	}
}

// config returns the settings as config.json holds them.
func (p *Plan) config() map[string]any {
	s, config := p.Saved(), map[string]any{}
	for _, o := range Options(&s) {
		if config[o.Name] = o.field.Interface(); o.String() == autoWord {
			config[o.Name] = autoWord
		}
	}
	return config
}
