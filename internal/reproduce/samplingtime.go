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

// timeSettings is all that a timing is of, the machine included.
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

// runSamplingTime times one layer for batches of 512, on one goroutine, from the
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
	report := new(Report)
	for _, spec := range r.Data {
		data, err := r.open(ctx, spec)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			result := new(timeResult)
			settings := timeSettings{
				Kind: "sampling", Data: spec, Method: row.Method, Samples: oneLayer(row.Samples), Batch: r.Batch, Batches: batches, Layers: 1,
				Seed: r.Seed, Fingerprint: r.fingerprint, Machine: machine.Describe(),
			}
			words := []string{spec, row.Method, sizesText(oneLayer(row.Samples))}
			err := r.cell(ctx, "sampling", settings, result, words, func() error {
				if *result, err = timeSampling(ctx, data, settings); err != nil {
					return err
				}
				r.Log(fmt.Sprintf("%s, %s: %.3f ms to sample", spec, row.describe(), result.Mean))
				return nil
			})
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, result.row(spec, row, "ms to sample a layer", paperSampling))
		}
	}
	report.figure = compareFigure("Sampling time of one layer, ms a batch", report.Rows, r.Data)
	report.Notes = append(report.Notes, "sampling: one goroutine; the block comes with its transpose; the paper's ± is the standard deviation over the batches, as is ours",
		"the paper's node-wise times are likely those of reading single rows of a matrix stored by columns; no win is claimed over them")
	return report, nil
}

// oneLayer returns the size of the layer next to the output, which is the one
// timed; methods without sizes get one that they do not look at.
func oneLayer(sizes []int) []int {
	if len(sizes) == 0 {
		return []int{1}
	}
	return sizes[:1]
}

// row is the result beside the paper's. What the paper prints after ± is a
// standard deviation over the batches, far above the error of its mean: a number
// within twice it counts as in range.
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

// timeSampling measures.
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
