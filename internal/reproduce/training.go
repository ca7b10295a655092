package reproduce

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// trainResult is the part of a training run's result that a cell holds.
type trainResult struct {
	Metric    string       `json:"metric"`
	Test      study.Number `json:"test"`
	Valid     study.Number `json:"valid"` // best
	Batches   int          `json:"batches"`
	BestBatch int          `json:"best_batch"`
	Stop      string       `json:"stop"`

	Curve []curvePoint `json:"curve"` // one point for each evaluation

	// Weight is the first weight of the run that errorWeights names, from which
	// figure 2 takes W.
	Weight []byte `json:"first_weight,omitempty"`
}

type curvePoint struct {
	Batch int          `json:"batch"`
	Loss  study.Number `json:"loss"`
	Valid study.Number `json:"valid"`
}

// String is the outcome for a line of progress.
func (t *trainResult) String() string {
	return fmt.Sprintf("test %s %.4f after %d batches", t.Metric, float64(t.Test), t.Batches)
}

// best returns the best validation metric of the run.
func (t *trainResult) best() float64 {
	best := math.Inf(-1)
	for _, p := range t.Curve {
		best = max(best, float64(p.Valid))
	}
	return best
}

// reaches returns the mini-batch of the first score that is at least goal, or of the
// end.
func (t *trainResult) reaches(goal float64) int {
	for _, p := range t.Curve {
		if float64(p.Valid) >= goal {
			return p.Batch
		}
	}
	return t.Batches
}

func newTrainResult(data *datasets.Data, h *train.Result) *trainResult {
	t := &trainResult{
		Metric: string(data.Metric), Test: study.Number(h.Test), Valid: study.Number(h.Best), Batches: h.Batches, BestBatch: h.BestBatch, Stop: h.Stop,
	}
	for _, e := range h.Evaluations {
		t.Curve = append(t.Curve, curvePoint{e.Batch, study.Number(e.Loss), study.Number(e.Valid)})
	}
	return t
}

// fullMethod is full batch. Its runs read P·X computed once: the same model and the same
// law of dropout, in less time.
const fullMethod = "full"

// regressionEvalEvery is the least number of mini-batches between two scores of a run of
// the regressions. The scores only stop the run; no table or figure shows them.
const regressionEvalEvery = 50

// evalEvery returns the number of mini-batches between two scores of a run.
func (r *runner) evalEvery(of kind, spec string) int {
	every := r.EvalEvery.of(spec)
	if of == regressing {
		every = max(every, min(regressionEvalEvery, r.MaxBatches))
	}
	return every
}

// runs lists training runs that differ in their seeds.
func (r *runner) runs(k key) []key {
	k.Hidden, k.Batch, k.MaxBatches, k.Patience = r.Hidden, r.Batch, r.MaxBatches, r.Patience
	k.EvalEvery = r.evalEvery(k.Kind, k.Data)
	var keys []key
	for run := range r.Runs.of(k.Data) {
		k.Seed = r.Seed + uint64(run)
		keys = append(keys, k)
	}
	return keys
}

// trainKeys lists the training runs of one row of a table of 2-layer models.
func (r *runner) trainKeys(spec string, row PaperRow) []key {
	return r.runs(key{Kind: training, Data: spec, Method: row.Method, Samples: row.Samples, Layers: 2})
}

// trained returns the results of the training runs of one row.
func (r *runner) trained(spec string, row PaperRow) []*trainResult {
	return resultsOf[trainResult](r, r.trainKeys(spec, row))
}

// train returns the result of one training run.
func (r *runner) train(ctx context.Context, k key) (*trainResult, error) {
	model, h, err := r.fit(ctx, k, k.Method == fullMethod)
	if err != nil {
		return nil, err
	}
	t := newTrainResult(r.data, h)
	w := r.errorWeights(k.Data)
	if w.Fingerprint = k.Fingerprint; w.id() == k.id() {
		values, ok := model.Convolutions[0].W.Value().Data().([]float32)
		if !ok {
			return nil, fmt.Errorf("reproduce: the weight of layer 1 is %T, want float32 values", model.Convolutions[0].W.Value().Data())
		}
		t.Weight, err = binary.Append(nil, binary.LittleEndian, values)
	}
	return t, err
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
	model, err := r.model(k, exact)
	if err != nil {
		return nil, nil, err
	}
	model.ReadPropagated(r.exact)
	dir, start := r.cells.folder(k), time.Now()
	result, err := train.Fit(ctx, model, r.data, train.Options{
		Batch: k.Batch, MaxBatches: k.MaxBatches, EvalEvery: k.EvalEvery, Patience: k.Patience, Seed: k.Seed, Dir: dir, Resume: true,
		CheckpointInterval: time.Minute,
		Config:             map[string]any{"cell": filepath.Base(dir)},
		Progress: func(p train.Progress) {
			if p.Evaluated && time.Since(start) > 30*time.Second {
				start = time.Now()
				r.log(fmt.Sprintf("%s, seed %d: batch %d, best %.4f", k, k.Seed, p.Batch, p.Best))
			}
		},
	})
	return model, result, err
}

// classifierDropout is the rate of the further dropout that the paper's program has
// before the classifier.
const classifierDropout = 0.2

// model builds the paper's model over a sampler of the open data, with exact input or without.
func (r *runner) model(k key, exact bool) (*layers.GCN, error) {
	o := layers.GCNOptions{Hidden: k.Hidden, ClassifierDropout: classifierDropout, Seed: k.Seed}
	sampled := k.Layers
	if exact {
		o.ExactInput, sampled = r.exact, sampled-1
	}
	sizes := k.Samples
	if len(sizes) == 0 {
		sizes = []int{k.Batch}
	}
	sampler, err := r.sampler(k.Method, sizes, sampled, exact)
	if err != nil {
		return nil, err
	}
	return layers.NewGCN(layers.NewBatch(G.NewGraph(), sampler), r.data.Features, r.data.Labels, o)
}

// sampler makes a sampler of some layers of the open data.
func (r *runner) sampler(method string, sizes []int, layers int, exact bool) (samplers.Sampler, error) {
	return samplers.ByName(method, samplers.Config{Laplacian: r.data.Laplacian(), Train: r.data.Split.Train, Layers: layers, Sizes: sizes, ExactInput: exact})
}
