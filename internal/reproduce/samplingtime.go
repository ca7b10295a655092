package reproduce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
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

// runSamplingTime times one layer on one goroutine, for batches of 512: from the
// batch to the finished block with its transpose.
func runSamplingTime(ctx context.Context, r *runner) (*Report, error) {
	batches := r.Batches
	if batches == 0 {
		batches = 200
	}
	rows := r.choose(r.paper.SamplingTime)
	if len(rows) == 0 {
		return nil, errNoRuns
	}
	report, err := r.timings(ctx, rows, timing{
		quantity: "ms to sample a layer", timedBy: paperSampling, format: "%.3f ms to sample",
		settings: func(row PaperRow) (timeSettings, []string) {
			samples := oneLayer(row.Samples)
			return timeSettings{Kind: "sampling", Samples: samples, Batches: batches, Layers: 1}, []string{sizesText(samples)}
		},
		measure: func(data *datasets.Data, _ PaperRow, s timeSettings) (timeResult, error) {
			return timeSampling(ctx, data, s)
		},
	})
	if err != nil {
		return nil, err
	}
	report.figure = compareFigure("Sampling time of one layer, ms a batch", report.Rows, r.Data)
	report.Notes = append(report.Notes, "sampling: one goroutine; the time includes the block's transpose; both ± are standard deviations over the batches",
		"the paper's program likely reads single rows of a matrix stored by columns for its node-wise times; we claim no speed-up over them")
	return report, nil
}

// timing describes how to time the rows of a table.
type timing struct {
	quantity string // heading of the numbers, with their unit
	timedBy  string // the program behind the paper's times
	format   string // of the mean, for the log

	// settings returns the timing's own settings of a row, and further words for
	// the cell's name.
	settings func(row PaperRow) (timeSettings, []string)
	measure  func(data *datasets.Data, row PaperRow, s timeSettings) (timeResult, error)
}

// timings times every row on every data set, a cell each.
func (r *runner) timings(ctx context.Context, rows []PaperRow, t timing) (*Report, error) {
	report := new(Report)
	for _, spec := range r.Data {
		data, err := r.open(ctx, spec)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			s, words := t.settings(row)
			s.Data, s.Method, s.Batch, s.Seed = spec, row.Method, r.Batch, r.Seed
			s.Fingerprint, s.Machine = r.fingerprint, machine.Describe()
			result := new(timeResult)
			err := r.cell(ctx, s.Kind, s, result, append([]string{spec, row.Method}, words...), func() error {
				if *result, err = t.measure(data, row, s); err != nil {
					return err
				}
				r.Log(fmt.Sprintf("%s, %s: "+t.format, spec, row.describe(), result.Mean))
				return nil
			})
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, result.row(spec, row, t.quantity, t.timedBy))
		}
	}
	return report, nil
}

// oneLayer returns the size of the layer next to the output, the timed one. Methods
// without sizes get a size that they ignore.
func oneLayer(sizes []int) []int {
	if len(sizes) == 0 {
		return []int{1}
	}
	return sizes[:1]
}

// row returns the result beside the paper's. The paper prints a standard deviation
// over the batches after ±, which is far above the error of the mean. A number
// within twice the ± is in range.
func (t *timeResult) row(spec string, paper PaperRow, quantity, timedBy string) Row {
	row := Row{
		Dataset: spec, Label: paper.Label, Method: paper.Method, Samples: paper.Samples, Quantity: quantity,
		N: t.N, Mean: t.Mean, Std: t.SD, Median: t.Median, Paper: paper.value(spec),
	}
	row.SEM = study.StandardError(t.SD, t.N)
	row.compare()
	row.explain(timedBy)
	return row
}

// timeSampling measures the sampling time of s.Batches batches.
func timeSampling(ctx context.Context, data *datasets.Data, s timeSettings) (timeResult, error) {
	const warmup = 10
	sampler, err := samplers.ByName(s.Method, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: 1, Sizes: s.Samples,
	})
	if err != nil {
		return timeResult{}, err
	}
	source := new(rand.PCG)
	rng := rand.New(source)
	var batch samplers.MiniBatch
	var times []float64
	for k := range warmup + s.Batches {
		samplers.Seed(source, s.Seed, 0, uint64(k))
		seeds := study.RandomBatch(rng, data.Split.Train, s.Batch)
		start := time.Now()
		if err := sampler.Sample(ctx, seeds, rng, &batch); err != nil {
			return timeResult{}, err
		}
		if k >= warmup {
			times = append(times, time.Since(start).Seconds()*1e3)
		}
	}
	spread := study.NewSpread(times)
	return timeResult{N: spread.N, Mean: spread.Mean, SD: spread.SD, Median: study.Median(times)}, nil
}
