package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// trainResult is the part of a training run's result that a cell holds.
type trainResult struct {
	Metric    string             `json:"metric"`
	Test      float64            `json:"test"`
	Valid     float64            `json:"valid"` // best
	Batches   int                `json:"batches"`
	BestBatch int                `json:"best_batch"`
	Stop      string             `json:"stop"`
	Curve     []train.Evaluation `json:"curve"`
}

// String is the outcome for a line of progress.
func (t *trainResult) String() string {
	return fmt.Sprintf("test %s %.4f after %d batches", t.Metric, t.Test, t.Batches)
}

// reaches returns the mini-batch of the first score that is at least goal, or of the
// end.
func (t *trainResult) reaches(goal float64) int {
	for _, p := range t.Curve {
		if p.Valid >= goal {
			return p.Batch
		}
	}
	return t.Batches
}

// fullMethod is full batch. Its runs read P·X computed once: the same model and the same
// law of dropout, in less time.
const fullMethod = "full"

// regressionEvalEvery is the least number of mini-batches between two scores of a run of
// the regressions. The scores only stop the run; no table or figure shows them.
const regressionEvalEvery = 50

// measured returns the number of mini-batches that a measurement has in the paper, or less
// where the runs are short.
func (r *runner) measured(n int) int { return min(n, max(cmp.Or(r.base.MaxBatches, 5*n)/5, 3)) }

// runs lists training runs that differ in their seeds.
func (r *runner) runs(k key) []key {
	k.Hidden, k.Batch, k.MaxBatches, k.Patience, k.Other = r.base.Hidden, r.base.Batch, r.base.MaxBatches, r.base.Patience, r.other
	if k.EvalEvery = r.base.EvalEvery; k.Kind == regressionCell {
		k.EvalEvery = max(k.EvalEvery, min(regressionEvalEvery, r.base.MaxBatches))
	}
	var keys []key
	for run := range r.base.Runs {
		k.Seed = r.base.Seed + uint64(run)
		keys = append(keys, k)
	}
	return keys
}

// trained returns the results of the training runs of one row of a table of 2-layer models.
func (r *runner) trained(spec string, row PaperRow) []*trainResult {
	return resultsOf[trainResult](r, r.runs(key{Kind: trainCell, Data: spec, Method: row.Method, Samples: row.Samples, Layers: 2}))
}

// train returns the result of one training run.
func (r *runner) train(ctx context.Context, k key) (any, error) {
	_, h, err := r.fit(ctx, k, k.Method == fullMethod)
	if err != nil {
		return nil, err
	}
	return &trainResult{string(r.data.Metric), h.Test, h.Best, h.Batches, h.BestBatch, h.Stop, h.Evaluations}, nil
}

// fit trains the paper's model, with exact input or without. A stopped run goes on from its
// checkpoints, and a finished one gives its model again.
func (r *runner) fit(ctx context.Context, k key, exact bool) (*layers.GCN, *train.Result, error) {
	if r.exact == nil {
		var err error
		if r.exact, err = layers.NewExactInput(ctx, r.data.Laplacian(), r.data.Features, r.data.Propagated, nil); err != nil {
			return nil, nil, err
		}
	}
	p, err := r.planOf(k, exact)
	if err != nil {
		return nil, nil, err
	}
	model, err := p.NewModel(ctx, r.data)
	if err != nil {
		return nil, nil, err
	}
	model.ReadPropagated(r.exact)
	o, start := p.Fit(), time.Now()
	o.Dir, o.Resume, o.CheckpointInterval = r.cells.folder(k), true, time.Minute
	o.Progress = func(p train.Progress) {
		if p.Evaluated && time.Since(start) > 30*time.Second {
			start = time.Now()
			r.log(fmt.Sprintf("%s, seed %d: batch %d, best %.4f", k, k.Seed, p.Batch, p.Best))
		}
	}
	result, err := train.Fit(ctx, model, r.data, o)
	return model, result, err
}

// planOf returns the settings of a cell as "gcn train" has them, with exact input or without.
func (r *runner) planOf(k key, exact bool) (*run.Plan, error) {
	s := r.base
	s.Method, s.Samples, s.Layers, s.ExactInput, s.EvalEvery, s.Seed = k.Method, k.Samples, k.Layers, exact, k.EvalEvery, k.Seed
	p, err := s.Plan()
	if err == nil && exact {
		p.Exact = r.exact
	}
	return p, err
}

// sampler makes a sampler of some layers of the open data.
func (r *runner) sampler(method string, sizes []int, layers int) (samplers.Sampler, error) {
	p, err := r.planOf(key{Method: method, Samples: sizes, Layers: layers, Seed: r.base.Seed}, false)
	if err != nil {
		return nil, err
	}
	return p.Sampler(r.data)
}
