package run

import (
	"context"
	"strconv"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/train"
)

// A trial of layer norm has normBatches mini-batches without and as many with it, with a score each
// normInterval. With it Adam's step size is normRate. The numbers are from docs/measurements.md.
const (
	normBatches  = 200
	normInterval = 100
	normRate     = "0.005"
)

// TryNorm returns the options of layer norm if a trial has a better validation score with them. It
// returns nil without a trial if options of the method, of the norm or of the limit were given, and
// if there are fewer training nodes than a mini-batch holds: such a trial would say little.
// progress, if not nil, counts the mini-batches of the trial.
func (j *Job) TryNorm(ctx context.Context, data *datasets.Data, progress func(done, total int)) ([]Value, error) {
	limited := j.MaxBatches >= 0 || j.Epochs > 0
	if !j.Default || j.Method.Name != DefaultMethod || limited || j.Given("layer_norm") || j.Given("batch_norm") ||
		len(data.Split.Train) < j.Batch || len(data.Split.Valid) == 0 {
		return nil, nil
	}
	norm := []Value{{Option: "layer_norm", Text: "true"}}
	if !j.Given("lr") {
		norm = append(norm, Value{Option: "lr", Text: normRate})
	}
	var best [2]float64
	for k, options := range [][]Value{nil, norm} {
		history, err := j.try(ctx, data, options, func(p train.Progress) {
			if progress != nil {
				progress(k*normBatches+p.Batch, 2*normBatches)
			}
		})
		if err != nil {
			return nil, err
		}
		best[k] = history.Best
	}
	if best[1] <= best[0] {
		norm = nil
	}
	j.Say("after %d mini-batches the validation score is %.4f, with --layer-norm %.4f: the run is %s it", normBatches, best[0], best[1],
		map[bool]string{true: "with", false: "without"}[norm != nil])
	return norm, nil
}

// try trains the plan with further options for the mini-batches of a trial.
func (j *Job) try(ctx context.Context, data *datasets.Data, options []Value, progress func(train.Progress)) (*train.Result, error) {
	s := j.Settings
	err := s.Set(append([]Value{
		{Option: "max_batches", Text: strconv.Itoa(normBatches)},
		{Option: "eval_every", Text: strconv.Itoa(normInterval)},
		{Option: "patience", Text: "0"},
		{Option: "schedule", Text: "none"}, // as a cosine begins
	}, options...)...)
	if err != nil {
		return nil, err
	}
	p, err := s.Plan()
	if err != nil {
		return nil, err
	}
	p.GPU, p.Exact = j.GPU, j.Exact
	model, err := p.NewModel(ctx, data)
	if err != nil {
		return nil, err
	}
	model.Bound, j.Exact = j.Bound, p.Exact
	o := p.Fit()
	o.Progress = progress
	return train.Fit(ctx, model, data, o)
}
