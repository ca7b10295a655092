package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// timeResult holds milliseconds a batch.
type timeResult struct {
	N      int     `json:"n"`
	Mean   float64 `json:"ms_mean"`
	SD     float64 `json:"ms_sd"`
	Median float64 `json:"ms_median"`
}

// String is the outcome for a line of progress.
func (t *timeResult) String() string { return fmt.Sprintf("%.3f ms", t.Mean) }

func newTimeResult(times []float64) *timeResult {
	s := study.NewSpread(times)
	return &timeResult{s.N, s.Mean, s.SD, study.Median(times)}
}

// samplingKey is the timing of a row of the table of sampling times: one layer.
func (r *runner) samplingKey(spec string, row PaperRow) key {
	samples := row.Samples
	if len(samples) == 0 {
		samples = []int{1} // a method without sizes ignores it
	}
	return key{Kind: sampling, Data: spec, Method: row.Method, Samples: samples[:1], Layers: 1, Batch: r.Batch, Batches: cmp.Or(r.Batches, 200), Seed: r.Seed}
}

// stepKey is the timing of training steps.
func (r *runner) stepKey(spec string, row PaperRow, layers int) key {
	return key{
		Kind: stepping, Data: spec, Method: row.Method, Samples: row.Samples, Layers: layers,
		Hidden: r.Hidden, Batch: r.Batch, Batches: cmp.Or(r.Batches, 150), Seed: r.Seed,
	}
}

// timeTable is a table of times.
func timeTable(name, alias, title, quantity, timedBy string, caption func(*runner) string, rows func(*runner) []PaperRow, of func(*runner, string, PaperRow) key) Experiment {
	return Experiment{
		Name: name, Alias: alias, Title: title, Data: fiveNames(), caption: caption, finish: compareFigure,
		fill: []filler{func(r *runner, spec string, report *Report) {
			for _, row := range rows(r) {
				r.addTime(report, of(r, spec, row), row, quantity, timedBy)
			}
		}},
	}
}

// samplingTable is the table of sampling times.
func samplingTable(name, alias string) Experiment {
	return timeTable(name, alias, "Milliseconds to sample one layer for a mini-batch", "ms to sample a layer", paperSampling, func(r *runner) string {
		return fmt.Sprintf("One goroutine, mini-batches of %d; the time includes the block's transpose. Our number is the median, the paper's a mean; our mean decides whether it is in the paper's range. "+
			"The paper's program probably reads single rows of a matrix stored by columns for its node-wise times: we claim no speed-up over them.", r.Batch)
	}, func(r *runner) []PaperRow { return r.rowsOf(r.paper.SamplingTime, 1) }, (*runner).samplingKey)
}

// stepTable is a table of training times of models of some layers.
func stepTable(name, alias string, layers int) Experiment {
	return timeTable(name, alias, fmt.Sprintf("Milliseconds of a training step of a %d-layer model", layers), fmt.Sprintf("ms a training step, %d layers", layers), paperTraining, func(*runner) string {
		return "A step is forward, backward and Adam, sampling left out. Our number is the median, the paper's a mean; our mean decides whether it is in the paper's range. The paper's step ran on a GPU, and includes copying the batch there. " +
			"On a large graph a cell ends after 90 s, with the steps done."
	}, func(r *runner) []PaperRow { return r.rowsOf(r.paper.TrainingTime[fmt.Sprint(layers)], layers) }, func(r *runner, spec string, row PaperRow) key {
		return r.stepKey(spec, row, layers)
	})
}

// addTime adds a timing beside the paper's. If the model was too large for the memory,
// the row has no measurements. After ± the paper prints a standard deviation over the
// batches, which is far above the error of the mean. A number within twice the ± is in
// range.
func (r *runner) addTime(report *Report, k key, paper PaperRow, quantity, timedBy string) {
	t := resultOf[timeResult](r, k)
	if t == nil && r.failed(k) == nil {
		return // missing
	}
	if t == nil {
		t = &timeResult{Mean: math.NaN()}
	}
	report.add(timedBy, Row{
		Dataset: k.Data, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity, is: is{Of: aTime},
		N: t.N, Mean: t.Mean, Std: t.SD, SEM: study.StandardError(t.SD, t.N), Median: t.Median, Paper: paper.value(k.Data),
	})
}

// timeSampling times the sampling of mini-batches.
func (r *runner) timeSampling(ctx context.Context, k key) (*timeResult, error) {
	sampler, err := r.sampler(k.Method, k.Samples, 1, false)
	if err != nil {
		return nil, err
	}
	times, err := sampleTimes(ctx, sampler, r.data.Split.Train, k)
	return newTimeResult(times), err
}

// sampleTimes returns the milliseconds to draw mini-batches of some nodes, after ten
// that do not count.
func sampleTimes(ctx context.Context, sampler samplers.Sampler, nodes []int32, k key) ([]float64, error) {
	const warmup = 10
	k.Batches += warmup
	var times []float64
	for d, err := range draw(ctx, sampler, nodes, k) {
		if err != nil {
			return nil, err
		}
		times = append(times, d.ms)
	}
	return times[warmup:], nil
}

// drawn is a mini-batch, valid until the next one.
type drawn struct {
	batch *samplers.MiniBatch
	seeds []int32
	ms    float64 // to sample it
}

// draw samples a cell's mini-batches from some nodes. It ends after an error.
func draw(ctx context.Context, sampler samplers.Sampler, nodes []int32, of key) iter.Seq2[drawn, error] {
	return func(yield func(drawn, error) bool) {
		source := new(rand.PCG)
		rng := rand.New(source)
		var batch samplers.MiniBatch
		for k := range of.Batches {
			samplers.Seed(source, of.Seed, 0, uint64(k))
			seeds := study.RandomBatch(rng, nodes, of.Batch)
			start := time.Now()
			err := sampler.Sample(ctx, seeds, rng, &batch)
			if !yield(drawn{&batch, seeds, milliseconds(start)}, err) || err != nil {
				return
			}
		}
	}
}

func milliseconds(since time.Time) float64 { return time.Since(since).Seconds() * 1e3 }

// longest bounds the time of one cell: on a large graph full neighbourhoods take
// seconds a step, and a few steps are enough.
const longest = 90 * time.Second

// timeSteps times steps one by one, each on a batch sampled before. The first and the
// last 20 of n steps do not count, or a fifth each if n is less than 100.
func (r *runner) timeSteps(ctx context.Context, k key) (*timeResult, error) {
	model, err := r.model(k, false)
	if err != nil {
		return nil, err
	}
	program, err := train.NewProgram(model)
	if err != nil {
		return nil, err
	}
	defer program.Close()
	var times []float64
	var adam train.AdamState
	start := time.Now()
	for d, err := range draw(ctx, model.Batch.Sampler(), r.data.Split.Train, k) {
		if err != nil {
			return nil, err
		}
		before := time.Now()
		if _, err := program.Step(d.batch, uint64(len(times))); err != nil {
			return nil, err
		}
		if err := (train.Adam{LR: 0.001}).Step(program.Parameters(), program.Gradients(), &adam); err != nil {
			return nil, err
		}
		times = append(times, milliseconds(before))
		if time.Since(start) > longest && len(times) >= 5 {
			break
		}
	}
	discard := 20
	if len(times) < 100 {
		discard = len(times) / 5
	}
	return newTimeResult(times[discard : len(times)-discard]), nil
}
