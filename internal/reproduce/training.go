package reproduce

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// trainSettings is everything that a training run depends on.
type trainSettings struct {
	Kind       string  `json:"kind"` // the kind of result
	Data       string  `json:"data"`
	Method     string  `json:"method"`
	Samples    []int   `json:"samples"`
	Layers     int     `json:"layers"`
	Hidden     int     `json:"hidden"`
	Dropout    float64 `json:"classifier_dropout"` // of the classifier's inputs
	Batch      int     `json:"batch"`
	MaxBatches int     `json:"max_batches"`
	EvalEvery  int     `json:"eval_every"`
	Patience   int     `json:"patience"`
	Seed       uint64  `json:"seed"`
	BLAS       string  `json:"blas"`

	// ExactInput says that training reads P·X computed once.
	ExactInput bool `json:"exact_input,omitempty"`

	Fingerprint string `json:"fingerprint"` // of the data: the data of one SPEC may change
}

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

// trainSettings returns the settings of a run.
func (r *runner) trainSettings(j job) trainSettings {
	s := trainSettings{
		Kind: string(j.kind), Data: j.spec, Method: j.method, Samples: j.samples, Layers: j.layers, Hidden: r.Hidden, Dropout: classifierDropout, Batch: r.Batch,
		MaxBatches: r.MaxBatches, EvalEvery: r.evalEvery(j), ExactInput: j.method == fullMethod, Patience: r.Patience, Seed: r.Seed + uint64(j.run), Fingerprint: r.fingerprint,
	}
	if b, err := blas.Default(); err == nil {
		s.BLAS = b.Name()
	}
	return s
}

// fullMethod is full batch. Its runs read P·X computed once: the same model and the same
// law of dropout, in less time.
const fullMethod = "full"

// regressionEvalEvery is the least number of mini-batches between two scores of a run of
// the regressions. The scores only stop the run; no table or figure shows them.
const regressionEvalEvery = 50

// evalEvery returns the number of mini-batches between two scores of a run.
func (r *runner) evalEvery(j job) int {
	every := r.EvalEvery.of(j.spec)
	if j.kind == regressing {
		every = max(every, min(regressionEvalEvery, r.MaxBatches))
	}
	return every
}

// trainJobs lists the training runs of one row.
func (r *runner) trainJobs(spec string, row PaperRow, layers int) []job {
	return r.runsOf(job{kind: training, spec: spec, method: row.Method, samples: row.Samples, layers: layers})
}

// trained returns the results of the training runs of one row.
func (r *runner) trained(spec string, row PaperRow, layers int) []*trainResult {
	return resultsOf[trainResult](r, r.trainJobs(spec, row, layers))
}

// train returns the result of one training run.
func (r *runner) train(ctx context.Context, j job) (any, error) {
	settings := r.trainSettings(j)
	result := new(trainResult)
	words := []string{j.spec, j.method, sizesText(j.samples), fmt.Sprintf("seed-%d", settings.Seed)}
	return result, r.trainedCell(ctx, j, settings, result, words, func() error {
		model, history, err := r.fit(ctx, j, settings)
		if err != nil {
			return err
		}
		*result = *newTrainResult(r.data, history)
		if j.key() == errorWeights(j.spec).key() {
			if result.Weight, err = firstWeight(model); err != nil {
				return err
			}
		}
		r.log(fmt.Sprintf("%s, seed %d: test %s %.4f after %d batches, %.0f s", j, settings.Seed, result.Metric, float64(result.Test), result.Batches, history.WallS))
		return nil
	})
}

// firstWeight returns the weight of the first convolution, little-endian float32.
func firstWeight(model *layers.GCN) ([]byte, error) {
	values, ok := model.Convolutions[0].W.Value().Data().([]float32)
	if !ok {
		return nil, fmt.Errorf("reproduce: the weight of layer 1 is %T, want float32 values", model.Convolutions[0].W.Value().Data())
	}
	return binary.Append(nil, binary.LittleEndian, values)
}

// trainedCell is cell for a result of a training run. It removes the run's checkpoints once
// the cell is saved, so that a stop before that loses nothing. A locked folder keeps other processes
// away meanwhile; the error is rundir.ErrLocked if another process has it.
func (r *runner) trainedCell(ctx context.Context, j job, settings trainSettings, result any, words []string, compute func() error) error {
	absent := errors.New("the cell is absent")
	err := r.cell(ctx, j, settings, result, words, func() error { return absent })
	if !errors.Is(err, absent) {
		return err
	}
	dir, err := r.runFolder(settings)
	if err != nil {
		return err
	}
	claim := dir + ".claim"
	held, err := rundir.Open(claim)
	switch {
	case errors.Is(err, os.ErrNotExist): // the process that had it has just removed it
		return fmt.Errorf("reproduce: %s: %w", claim, rundir.ErrLocked)
	case err != nil:
		return fmt.Errorf("reproduce: %w", err)
	}
	defer func() {
		_ = os.RemoveAll(claim) // before others can lock it
		_ = held.Close()
	}()
	// The process that had the lock before may have saved the cell.
	if err := r.cell(ctx, j, settings, result, words, compute); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	return nil
}

// runFolder returns the folder of a run's checkpoints, among the cells.
func (r *runner) runFolder(settings trainSettings) (string, error) {
	name, err := r.cells.name("run", settings)
	return filepath.Join(r.cells.dir, name), err
}

// fit trains a model. A stopped run goes on from its checkpoints, and a finished one gives
// its model again.
func (r *runner) fit(ctx context.Context, j job, settings trainSettings) (*layers.GCN, *train.Result, error) {
	if err := r.propagate(ctx); err != nil {
		return nil, nil, err
	}
	model, err := r.model(j, settings.Seed, settings.ExactInput)
	if err != nil {
		return nil, nil, err
	}
	model.ReadPropagated(r.exact)
	dir, err := r.runFolder(settings)
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	history, err := train.Fit(ctx, model, r.data, train.Options{
		Batch: r.Batch, MaxBatches: r.MaxBatches, EvalEvery: settings.EvalEvery, Patience: r.Patience, Seed: settings.Seed, Dir: dir, Resume: true,
		CheckpointInterval: time.Minute,
		Config:             map[string]any{"cell": filepath.Base(dir)},
		Progress: func(p train.Progress) {
			if p.Evaluated && time.Since(start) > 30*time.Second {
				start = time.Now()
				r.log(fmt.Sprintf("%s, seed %d: batch %d, best %.4f", j, settings.Seed, p.Batch, p.Best))
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return model, history, nil
}

// classifierDropout is the rate of the further dropout that the paper's program has
// before the classifier.
const classifierDropout = 0.2

// propagate computes P·X of the open data, for all runs on them.
func (r *runner) propagate(ctx context.Context) (err error) {
	if r.exact == nil {
		r.exact, err = layers.NewExactInput(ctx, r.data.Laplacian(), r.data.Features, r.data.Propagated, nil)
	}
	return err
}

// sampler makes a sampler of the open data.
func (r *runner) sampler(method string, sizes []int, layers int, exact bool) (samplers.Sampler, error) {
	if exact {
		layers--
	}
	return samplers.ByName(method, samplers.Config{Laplacian: r.data.Laplacian(), Train: r.data.Split.Train, Layers: layers, Sizes: sizes, ExactInput: exact})
}

// model builds the paper's model over a job's sampler, with exact input or without.
func (r *runner) model(j job, seed uint64, exact bool) (*layers.GCN, error) {
	sizes := j.samples
	if len(sizes) == 0 {
		sizes = []int{r.Batch}
	}
	sampler, err := r.sampler(j.method, sizes, j.layers, exact)
	if err != nil {
		return nil, err
	}
	o := layers.GCNOptions{Hidden: r.Hidden, ClassifierDropout: classifierDropout, Seed: seed}
	if exact {
		o.ExactInput = r.exact
	}
	return layers.NewGCN(layers.NewBatch(G.NewGraph(), sampler), r.data.Features, r.data.Labels, o)
}

func newTrainResult(data *datasets.Data, h *train.Result) *trainResult {
	t := &trainResult{
		Metric: string(data.Metric), Test: study.Number(h.Test), Valid: study.Number(h.Best), Batches: h.Batches, BestBatch: h.BestBatch,
		Stop: h.Stop,
	}
	for _, e := range h.Evaluations {
		t.Curve = append(t.Curve, curvePoint{e.Batch, study.Number(e.Loss), study.Number(e.Valid)})
	}
	return t
}
