package reproduce

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// runTrainingTime times one training step: forward, backward and Adam, without
// sampling.
func runTrainingTime(ctx context.Context, r *runner) (*Report, error) {
	batches := r.Batches
	if batches == 0 {
		batches = 150
	}
	table := r.paper.TrainingTime[strconv.Itoa(r.Layers)]
	if table == nil {
		return nil, fmt.Errorf("reproduce: the paper has training times of 2 and 3 layers, not of %d", r.Layers)
	}
	rows := r.choose(table)
	if len(rows) == 0 {
		return nil, errNoRuns
	}
	report, err := r.timings(ctx, rows, timing{
		quantity: fmt.Sprintf("ms a training step, %d layers", r.Layers), timedBy: paperTraining, format: "%.2f ms a step",
		settings: func(row PaperRow) (timeSettings, []string) {
			return timeSettings{Kind: "training", Samples: row.Samples, Batches: batches, Layers: r.Layers, Hidden: r.Hidden},
				[]string{sizesText(row.Samples), fmt.Sprintf("%d-layers", r.Layers)}
		},
		measure: func(data *datasets.Data, row PaperRow, s timeSettings) (timeResult, error) {
			return r.timeTraining(ctx, data, row, s)
		},
	})
	if err != nil {
		return nil, err
	}
	report.figure = compareFigure(fmt.Sprintf("Training step of a %d-layer model, ms", r.Layers), report.Rows, r.Data)
	report.Notes = append(report.Notes, "a step is forward, backward and Adam; the paper's step ran on a GPU and includes copying the batch there",
		"n counts the steps averaged: on a large graph a cell ends after 90 s")
	return report, nil
}

// longest bounds the time of one cell: on a large graph full neighbourhoods take
// seconds a step, and a few steps are enough.
const longest = 90 * time.Second

// timeTraining times steps one by one, each on a batch sampled before. The first
// and the last 20 of n steps do not count, or a fifth each if n is less than 100.
func (r *runner) timeTraining(ctx context.Context, data *datasets.Data, row PaperRow, s timeSettings) (timeResult, error) {
	model, err := r.model(data, row, s.Seed)
	if err != nil {
		return timeResult{}, err
	}
	program, err := train.NewProgram(model)
	if err != nil {
		return timeResult{}, err
	}
	defer program.Close()
	var times []float64
	var adam train.AdamState
	var batch samplers.MiniBatch
	source := new(rand.PCG)
	rng := rand.New(source)
	start := time.Now()
	for k := range s.Batches {
		if time.Since(start) > longest && k >= 5 {
			break
		}
		samplers.Seed(source, s.Seed, 0, uint64(k))
		seeds := study.RandomBatch(rng, data.Split.Train, s.Batch)
		if err := model.Batch.Sampler().Sample(ctx, seeds, rng, &batch); err != nil {
			return timeResult{}, err
		}
		before := time.Now()
		if _, err := program.Step(&batch, uint64(k)); err != nil {
			return timeResult{}, err
		}
		if err := (train.Adam{LR: 0.001}).Step(program.Parameters(), program.Gradients(), &adam); err != nil {
			return timeResult{}, err
		}
		times = append(times, time.Since(before).Seconds()*1e3)
	}
	discard := 20
	if len(times) < 100 {
		discard = len(times) / 5
	}
	times = times[discard : len(times)-discard]
	spread := study.NewSpread(times)
	return timeResult{N: spread.N, Mean: spread.Mean, SD: spread.SD, Median: study.Median(times)}, nil
}
