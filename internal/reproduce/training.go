package reproduce

import (
	"context"
	"errors"
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
	Kind       string `json:"kind"` // the kind of result
	Data       string `json:"data"`
	Method     string `json:"method"`
	Samples    []int  `json:"samples"`
	Layers     int    `json:"layers"`
	Hidden     int    `json:"hidden"`
	Batch      int    `json:"batch"`
	MaxBatches int    `json:"max_batches"`
	Patience   int    `json:"patience"`
	Seed       uint64 `json:"seed"`
	BLAS       string `json:"blas"`

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
}

type curvePoint struct {
	Batch   int          `json:"batch"`
	Loss    study.Number `json:"loss"`
	Valid   study.Number `json:"valid"`
	Seconds float64      `json:"seconds"`
}

// trainSettings opens the data and returns the settings of a run.
func (r *runner) trainSettings(ctx context.Context, kind, spec string, row PaperRow, run int) (trainSettings, error) {
	if _, err := r.open(ctx, spec); err != nil {
		return trainSettings{}, err
	}
	s := trainSettings{
		Kind: kind, Data: spec, Method: row.Method, Samples: row.Samples, Layers: r.Layers, Hidden: r.Hidden, Batch: r.Batch,
		MaxBatches: r.MaxBatches, Patience: r.Patience, Seed: r.Seed + uint64(run), Fingerprint: r.fingerprint,
	}
	if b, err := blas.Default(); err == nil {
		s.BLAS = b.Name()
	}
	return s, nil
}

// train returns the result of one training run.
func (r *runner) train(ctx context.Context, spec string, row PaperRow, run int) (*trainResult, error) {
	settings, err := r.trainSettings(ctx, "train", spec, row, run)
	if err != nil {
		return nil, err
	}
	result := new(trainResult)
	words := []string{spec, row.Method, sizesText(row.Samples), fmt.Sprintf("seed-%d", settings.Seed)}
	return result, r.cell(ctx, "train", settings, result, words, func() error {
		_, history, err := r.fit(ctx, spec, row, settings)
		if err != nil {
			return err
		}
		*result = *newTrainResult(r.data, history)
		r.Log(fmt.Sprintf("%s, %s, seed %d: test %s %.4f after %d batches, %.0f s", spec, row.describe(), settings.Seed,
			result.Metric, float64(result.Test), result.Batches, result.WallS))
		return nil
	})
}

// describe returns the row's method and sizes for a reader.
func (row *PaperRow) describe() string {
	if len(row.Samples) == 0 {
		return row.Method
	}
	return row.Method + " " + sizesText(row.Samples)
}

// fit trains a model. The run's checkpoints are in the cells' folder, so that a
// stopped run goes on. They are removed when the run is done.
func (r *runner) fit(ctx context.Context, spec string, row PaperRow, settings trainSettings) (*layers.GCN, *train.Result, error) {
	data, err := r.open(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	model, err := r.model(data, row, settings.Seed)
	if err != nil {
		return nil, nil, err
	}
	name, err := r.cells.name("run", settings)
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(r.cells.dir, name)
	start := time.Now()
	history, err := train.Fit(ctx, model, data, train.Options{
		Batch: r.Batch, MaxBatches: r.MaxBatches, Patience: r.Patience, Seed: settings.Seed, Dir: dir, Resume: true,
		CheckpointInterval: time.Minute,
		Config:             map[string]any{"cell": name},
		Progress: func(p train.Progress) {
			if p.Evaluated && time.Since(start) > 30*time.Second {
				start = time.Now()
				r.Log(fmt.Sprintf("%s, %s, seed %d: batch %d, best %.4f", spec, row.describe(), settings.Seed, p.Batch, p.Best))
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

// model builds the model of the paper's program over the row's sampler.
func (r *runner) model(data *datasets.Data, row PaperRow, seed uint64) (*layers.GCN, error) {
	sizes := row.Samples
	if len(sizes) == 0 {
		sizes = []int{r.Batch}
	}
	sampler, err := samplers.ByName(row.Method, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: r.Layers, Sizes: sizes,
	})
	if err != nil {
		return nil, err
	}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	return layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: r.Hidden, Seed: seed})
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

var errNoRuns = errors.New("reproduce: no method of the table can run")
