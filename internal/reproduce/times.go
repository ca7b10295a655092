package reproduce

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/samplers"
)

// timeResult holds milliseconds a batch.
type timeResult struct {
	N int `json:"n"`
	bench.Times
}

// stepKey is the timing of training steps.
func (r *runner) stepKey(spec string, row PaperRow, layers int) key {
	k := key{Kind: stepCell, Data: spec, Method: row.Method, Samples: row.Samples, Layers: layers, Hidden: r.base.Hidden}
	return r.timed(k, 150)
}

// timed returns k with the settings of all timings. It has the given number of mini-batches in the
// paper.
func (r *runner) timed(k key, batches int) key {
	k.Batch, k.Batches, k.Seed, k.Other = r.base.Batch, r.measured(batches), r.base.Seed, r.other
	return k
}

// addSampling adds the times to sample a layer.
func (r *runner) addSampling(spec string, report *Report) {
	for _, row := range r.rowsOf(r.paper.SamplingTime, 1) {
		samples := append(slices.Clone(row.Samples), 1) // a method without sizes ignores the 1
		k := key{Kind: samplingCell, Data: spec, Method: row.Method, Samples: samples[:1], Layers: 1}
		r.addTime(report, r.timed(k, 200), row, "ms to sample a layer")
	}
}

// stepTable is a table of training times of models of some layers.
func stepTable(name, alias string, layers int) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: fmt.Sprintf("Milliseconds of a training step of a %d-layer model", layers), Data: fiveNames(),
		caption: "step",
		fill: []filler{func(r *runner, spec string, report *Report) {
			for _, row := range r.rowsOf(r.paper.TrainingTime[fmt.Sprint(layers)], layers) {
				r.addTime(report, r.stepKey(spec, row, layers), row, fmt.Sprintf("ms a training step, %d layers", layers))
			}
		}, compareFigure},
	}
}

// addTime adds a timing beside the paper's. If the model was too large for the memory,
// the row has no measurements.
func (r *runner) addTime(report *Report, k key, paper PaperRow, quantity string) {
	t := resultOf[timeResult](r, k)
	if t == nil && r.settled[k.id()] == nil {
		return // missing
	}
	if t == nil {
		t = &timeResult{Times: bench.Times{MeanMS: math.NaN()}}
	}
	report.add(Row{
		Dataset: k.Data, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity, is: is{Of: aTime},
		N: t.N, Mean: t.MeanMS, Std: t.SDMS, SEM: t.SDMS / math.Sqrt(float64(max(t.N, 1))), Median: t.MedianMS, Paper: paper.value(k.Data),
	})
}

// timeSampling times the sampling of mini-batches.
func (r *runner) timeSampling(ctx context.Context, k key) (any, error) {
	sampler, err := r.sampler(k.Method, k.Samples, 1)
	if err != nil {
		return nil, err
	}
	reports, err := bench.Sampling(ctx, []samplers.Sampler{sampler}, r.data, k.Batch, k.Batches, k.Seed)
	if err != nil {
		return nil, err
	}
	return &timeResult{k.Batches, reports[0].Times}, nil
}

// longest bounds the time of one cell: on a large graph full neighbourhoods take
// seconds a step, and a few steps are enough.
const longest = 90 * time.Second

// timeSteps times steps one by one, each on a batch sampled before. The first and the
// last 20 of n steps do not count, or a fifth each if n is less than 100.
func (r *runner) timeSteps(ctx context.Context, k key) (any, error) {
	p, err := r.planOf(k, false)
	if err != nil {
		return nil, err
	}
	model, err := p.NewModel(ctx, r.data)
	if err != nil {
		return nil, err
	}
	s, err := bench.Step(ctx, model, r.data, bench.StepOptions{
		Batches:     k.Batches,
		Discard:     max(1, min(20, k.Batches/5)),
		BatchSize:   k.Batch,
		Seed:        k.Seed,
		Longest:     longest,
		EdgeDropout: p.EdgeDropout,
	})
	return &timeResult{s.Batches, s.Times}, err
}
