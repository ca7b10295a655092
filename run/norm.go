package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/train"
)

// A trial of layer norm has normBatches mini-batches without and as many with it, with a score each
// normInterval. With layer norm Adam's step size is normRate. The numbers are from docs/measurements.md.
const (
	normBatches  = 200
	normInterval = "100"
	normRate     = "0.005"
)

// TryNorm returns the options of layer norm if the model reaches a better validation score with them
// in a trial. It returns nil without a trial if the method is not the default one, if options of the
// norm or of the limit were given, or if ranks hold the data in parts. A mini-batch must be a part of
// the training nodes: the scores of a trial on fewer nodes say nothing. progress, if not nil, counts
// the mini-batches.
func (j *Job) TryNorm(ctx context.Context, data *datasets.Data, progress func(done, total int)) ([]Value, error) {
	if j.Method.String() != DefaultMethod || j.MaxBatches >= 0 || j.Epochs > 0 || j.Given("layer_norm") || j.Given("batch_norm") ||
		j.Partition != none || len(data.Split.Train) < j.Batch || len(data.Split.Valid) == 0 {
		return nil, nil
	}
	if err := j.Propagate(ctx, data, nil); err != nil {
		return nil, err
	}
	norm := []Value{{Option: "layer_norm", Text: "true"}}
	chosen := "with --layer-norm"
	if !j.Given("lr") {
		norm = append(norm, Value{Option: "lr", Text: normRate})
		chosen += " --lr " + normRate
	}
	var best [2]float64
	for k, options := range [][]Value{nil, norm} {
		debug.FreeOSMemory() // of the model before
		history, err := j.try(ctx, data, options, func(p train.Progress) {
			if progress != nil {
				progress(k*normBatches+p.Batch, 2*normBatches)
			}
		})
		switch {
		case errors.Is(err, train.ErrNotFinite):
			best[k] = math.Inf(-1)
		case ctx.Err() != nil:
			return nil, Interrupted{ctx.Err(), "interrupted in the trial of layer norm, nothing is saved: to go on, give the command again"}
		case err != nil:
			return nil, fmt.Errorf("the trial of layer norm: %w", err)
		default:
			best[k] = history.Best
		}
	}
	if best[1] <= best[0] {
		norm, chosen = nil, "without it"
	}
	j.Say("a trial of layer norm, %d mini-batches each: validation score %.4f with it, %.4f without; training %s", normBatches, best[1], best[0], chosen)
	return norm, nil
}

// try trains the plan with further options for the mini-batches of a trial, on this process alone.
func (j *Job) try(ctx context.Context, data *datasets.Data, options []Value, progress func(train.Progress)) (*train.Result, error) {
	trial, schedule := *j, j.Schedule
	schedule.Cosine = false // it hardly falls at its begin
	err := trial.Take(append([]Value{
		{Option: "max_batches", Text: strconv.Itoa(normBatches)},
		{Option: "eval_every", Text: normInterval},
		{Option: "patience", Text: "0"},
		{Option: "micro", Text: "1"},
		{Option: "schedule", Text: schedule.String()},
	}, options...))
	if err != nil {
		return nil, err
	}
	model, err := trial.NewModel(ctx, data)
	if err != nil {
		return nil, err
	}
	model.Bound = j.Bound
	o := trial.Fit()
	o.Progress = progress
	return train.Fit(ctx, model, data, o)
}
