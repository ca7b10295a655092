package reproduce

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// timeSettings is everything that a timing depends on, also the machine.
type timeSettings struct {
	Kind    string `json:"kind"`
	Data    string `json:"data"`
	Method  string `json:"method"`
	Samples []int  `json:"samples"`
	Batch   int    `json:"batch"`
	Batches int    `json:"batches"`
	Layers  int    `json:"layers"`
	Hidden  int    `json:"hidden"`
	Seed    uint64 `json:"seed"`

	Fingerprint string          `json:"fingerprint"` // of the data
	Machine     machine.Machine `json:"machine"`
}

// timeResult holds milliseconds a batch.
type timeResult struct {
	N      int     `json:"n"`
	Mean   float64 `json:"ms_mean"`
	SD     float64 `json:"ms_sd"`
	Median float64 `json:"ms_median"`
}

// samplingJob is the timing of a row of the table of sampling times: one layer.
func samplingJob(spec string, row PaperRow) job {
	samples := row.Samples
	if len(samples) == 0 {
		samples = []int{1} // a method without sizes ignores it
	}
	return job{kind: sampling, spec: spec, method: row.Method, samples: samples[:1], layers: 1}
}

// stepJob is the timing of training steps.
func stepJob(spec string, row PaperRow, layers int) job {
	return job{kind: stepping, spec: spec, method: row.Method, samples: row.Samples, layers: layers}
}

// time returns the result of a timing.
func (r *runner) time(ctx context.Context, j job) (any, error) {
	s := timeSettings{
		Kind: string(j.kind), Data: j.spec, Method: j.method, Samples: j.samples, Batch: r.Batch, Batches: r.Batches, Layers: j.layers, Seed: r.Seed,
		Fingerprint: r.fingerprint, Machine: machine.Describe(),
	}
	measure := r.timeSampling
	if s.Batches == 0 {
		s.Batches = 200
	}
	if j.kind == stepping {
		s.Hidden, measure = r.Hidden, r.timeSteps
		if r.Batches == 0 {
			s.Batches = 150
		}
	}
	result := new(timeResult)
	words := []string{j.spec, j.method, sizesText(j.samples), fmt.Sprintf("%d-layers", j.layers)}
	return result, r.cell(ctx, j, s, result, words, func() error {
		times, err := measure(ctx, j, s)
		if err != nil {
			return err
		}
		spread := study.NewSpread(times)
		*result = timeResult{N: spread.N, Mean: spread.Mean, SD: spread.SD, Median: study.Median(times)}
		r.log(fmt.Sprintf("%s, %d layers: %.3f ms", j, j.layers, result.Mean))
		return nil
	})
}

// addTime adds a timing beside the paper's. If the model was too large for the memory,
// the row has no measurements. After ± the paper prints a standard deviation over the
// batches, which is far above the error of the mean. A number within twice the ± is in
// range.
func (r *runner) addTime(report *Report, j job, paper PaperRow, quantity, timedBy string) {
	t := resultOf[timeResult](r, j)
	if t == nil && r.failed[j.key()] == nil {
		return // missing
	}
	if t == nil {
		t = &timeResult{Mean: math.NaN()}
	}
	row := Row{
		Dataset: j.spec, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity,
		N: t.N, Mean: t.Mean, Std: t.SD, SEM: study.StandardError(t.SD, t.N), Median: t.Median, Paper: paper.value(j.spec),
	}
	row.compare()
	row.explain(timedBy)
	report.Rows = append(report.Rows, row)
}

func captionOfSampling(r *runner) string {
	return fmt.Sprintf("One goroutine, mini-batches of %d; the time includes the block's transpose. Our number is the median, the paper's a mean; our mean decides whether it is in the paper's range. "+
		"The paper's program probably reads single rows of a matrix stored by columns for its node-wise times: we claim no speed-up over them.", r.Batch)
}

func captionOfSteps(*runner) string {
	return "A step is forward, backward and Adam, sampling left out. Our number is the median, the paper's a mean; our mean decides whether it is in the paper's range. The paper's step ran on a GPU, and includes copying the batch there. " +
		"On a large graph a cell ends after 90 s, with the steps done."
}

// timeSampling returns the sampling times of s.Batches batches in milliseconds.
func (r *runner) timeSampling(ctx context.Context, j job, s timeSettings) ([]float64, error) {
	sampler, err := r.sampler(j.method, j.samples, 1, false)
	if err != nil {
		return nil, err
	}
	return sampleTimes(ctx, sampler, r.data.Split.Train, s.Batch, s.Batches, s.Seed)
}

// sampleTimes returns the milliseconds to draw mini-batches of some nodes, after ten
// that do not count.
func sampleTimes(ctx context.Context, sampler samplers.Sampler, nodes []int32, size, batches int, seed uint64) ([]float64, error) {
	const warmup = 10
	var times []float64
	for d, err := range draw(ctx, sampler, nodes, size, warmup+batches, seed) {
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

// draw samples mini-batches of some nodes. It ends after an error.
func draw(ctx context.Context, sampler samplers.Sampler, nodes []int32, size, batches int, seed uint64) iter.Seq2[drawn, error] {
	return func(yield func(drawn, error) bool) {
		source := new(rand.PCG)
		rng := rand.New(source)
		var batch samplers.MiniBatch
		for k := range batches {
			samplers.Seed(source, seed, 0, uint64(k))
			seeds := study.RandomBatch(rng, nodes, size)
			start := time.Now()
			err := sampler.Sample(ctx, seeds, rng, &batch)
			if !yield(drawn{&batch, seeds, time.Since(start).Seconds() * 1e3}, err) || err != nil {
				return
			}
		}
	}
}

// longest bounds the time of one cell: on a large graph full neighbourhoods take
// seconds a step, and a few steps are enough.
const longest = 90 * time.Second

// timeSteps times steps one by one, each on a batch sampled before. The first and the
// last 20 of n steps do not count, or a fifth each if n is less than 100.
func (r *runner) timeSteps(ctx context.Context, j job, s timeSettings) ([]float64, error) {
	model, err := r.model(j, s.Seed, false)
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
	for d, err := range draw(ctx, model.Batch.Sampler(), r.data.Split.Train, s.Batch, s.Batches, s.Seed) {
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
		times = append(times, time.Since(before).Seconds()*1e3)
		if time.Since(start) > longest && len(times) >= 5 {
			break
		}
	}
	discard := 20
	if len(times) < 100 {
		discard = len(times) / 5
	}
	return times[discard : len(times)-discard], nil
}
