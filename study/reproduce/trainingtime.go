package reproduce

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/train"
)

// runTrainingTime times forward, backward and Adam of one step, sampling left
// out, the first and last 20 batches discarded.
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
	b, err := blas.Default()
	if err != nil {
		return nil, err
	}
	report := new(Report)
	for _, spec := range r.Data {
		for _, row := range rows {
			result := new(timeResult)
			settings := timeSettings{
				Kind: "training", Data: spec, Method: row.Method, Samples: row.Samples, Batch: r.Batch, Batches: batches,
				Layers: r.Layers, Hidden: r.Hidden, Seed: r.Seed, BLAS: b.Name(),
			}
			words := []string{spec, row.Method, sizesText(row.Samples), fmt.Sprintf("%d-layers", r.Layers)}
			err := r.cell(ctx, "training", settings, result, words, func() error {
				if *result, err = r.timeTraining(ctx, spec, row, settings); err != nil {
					return err
				}
				r.Log(fmt.Sprintf("%s, %s: %.2f ms a step", spec, row.describe(), result.Mean))
				return nil
			})
			if err != nil {
				return nil, err
			}
			report.Rows = append(report.Rows, result.row(spec, row, fmt.Sprintf("ms a training step, %d layers", r.Layers), paperTraining))
		}
	}
	report.figure = compareFigure(fmt.Sprintf("Training step of a %d-layer model, ms", r.Layers), report.Rows, r.Data)
	report.Notes = append(report.Notes, "a step is forward, backward and Adam; the paper's ran on a GPU and includes moving the batch there")
	return report, nil
}

func (r *runner) timeTraining(ctx context.Context, spec string, row PaperRow, s timeSettings) (timeResult, error) {
	data, err := r.open(ctx, spec)
	if err != nil {
		return timeResult{}, err
	}
	_, model, err := r.model(data, row, s.Seed)
	if err != nil {
		return timeResult{}, err
	}
	discard := 20
	if s.Batches <= 2*discard {
		discard = s.Batches / 5
	}
	if discard == 0 {
		discard = -1
	}
	report, err := train.BenchStep(ctx, model, data, train.BenchOptions{Batches: s.Batches, Discard: discard, BatchSize: s.Batch, Seed: s.Seed})
	if err != nil {
		return timeResult{}, err
	}
	return timeResult{N: report.Batches, Mean: report.MeanMS, SD: report.SDMS, Median: report.MedianMS}, nil
}
