package reproduce

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
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

	Fingerprint string `json:"fingerprint"` // of the data: the data of one SPEC may change
}

// trainResult is the part of a training run's result that a cell holds.
type trainResult struct {
	Metric     string       `json:"metric"`
	Test       study.Number `json:"test"`
	Valid      study.Number `json:"valid"` // best
	Batches    int          `json:"batches"`
	BestBatch  int          `json:"best_batch"`
	Stop       string       `json:"stop"`
	TrainMS    float64      `json:"train_ms_per_batch"`
	SamplingMS float64      `json:"sampling_ms_per_batch"`
	WallS      float64      `json:"wall_s"`

	Curve []curvePoint `json:"curve"` // one point for each evaluation

	// Weight is the first weight of the run that errorWeights names, from which
	// figure 2 takes W.
	Weight []byte `json:"first_weight,omitempty"`
}

type curvePoint struct {
	Batch   int          `json:"batch"`
	Loss    study.Number `json:"loss"`
	Valid   study.Number `json:"valid"`
	Seconds float64      `json:"seconds"`
}

// trainSettings returns the settings of a run.
func (r *runner) trainSettings(j job) trainSettings {
	s := trainSettings{
		Kind: string(j.kind), Data: j.spec, Method: j.method, Samples: j.samples, Layers: j.layers, Hidden: r.Hidden, Dropout: classifierDropout, Batch: r.Batch,
		MaxBatches: r.MaxBatches, EvalEvery: r.EvalEvery.of(j.spec), Patience: r.Patience, Seed: r.Seed + uint64(j.run), Fingerprint: r.fingerprint,
	}
	if b, err := blas.Default(); err == nil {
		s.BLAS = b.Name()
	}
	return s
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
	return result, r.cell(ctx, string(j.kind), settings, result, words, func() error {
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
		r.log(fmt.Sprintf("%s, seed %d: test %s %.4f after %d batches, %.0f s", j, settings.Seed, result.Metric, float64(result.Test), result.Batches, result.WallS))
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

// fit trains a model. The run's checkpoints are in the cells' folder, so that a
// stopped run goes on. They are removed when the run is done.
func (r *runner) fit(ctx context.Context, j job, settings trainSettings) (*layers.GCN, *train.Result, error) {
	model, err := r.model(j, settings.Seed)
	if err != nil {
		return nil, nil, err
	}
	name, err := r.cells.name("run", settings)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(r.cells.dir, name)
	start := time.Now()
	history, err := train.Fit(ctx, model, r.data, train.Options{
		Batch: r.Batch, MaxBatches: r.MaxBatches, EvalEvery: settings.EvalEvery, Patience: r.Patience, Seed: settings.Seed, Dir: dir, Resume: true,
		CheckpointInterval: time.Minute,
		Config:             map[string]any{"cell": name},
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
	if err := os.RemoveAll(dir); err != nil {
		return nil, nil, fmt.Errorf("reproduce: %w", err)
	}
	return model, history, nil
}

// classifierDropout is the rate of the further dropout that the paper's program has
// before the classifier.
const classifierDropout = 0.2

// sampler makes a sampler of the open data.
func (r *runner) sampler(method string, sizes []int, layers int) (samplers.Sampler, error) {
	return samplers.ByName(method, samplers.Config{Laplacian: r.data.Laplacian(), Train: r.data.Split.Train, Layers: layers, Sizes: sizes})
}

// model builds the paper's model over a job's sampler.
func (r *runner) model(j job, seed uint64) (*layers.GCN, error) {
	sizes := j.samples
	if len(sizes) == 0 {
		sizes = []int{r.Batch}
	}
	sampler, err := r.sampler(j.method, sizes, j.layers)
	if err != nil {
		return nil, err
	}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	return layers.NewGCN(batch, r.data.Features, r.data.Labels, layers.GCNOptions{Hidden: r.Hidden, ClassifierDropout: classifierDropout, Seed: seed})
}

func newTrainResult(data *datasets.Data, h *train.Result) *trainResult {
	t := &trainResult{
		Metric: string(data.Metric), Test: study.Number(h.Test), Valid: study.Number(h.Best), Batches: h.Batches, BestBatch: h.BestBatch,
		Stop: h.Stop, TrainMS: h.TrainMS, SamplingMS: h.SamplingMS, WallS: h.WallS,
	}
	for _, e := range h.Evaluations {
		t.Curve = append(t.Curve, curvePoint{e.Batch, study.Number(e.Loss), study.Number(e.Valid), math.Round(e.Seconds*1e3) / 1e3})
	}
	return t
}
