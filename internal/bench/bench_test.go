package bench_test

import (
	"context"
	"encoding/json"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/bench"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

func data(t *testing.T) *datasets.Data {
	t.Helper()
	d, err := datasets.Open(context.Background(), "synth:demo?nodes=1000&edges=5000", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func modelOver(t *testing.T, d *datasets.Data) *layers.GCN {
	t.Helper()
	batch := layers.NewBatch(G.NewGraph(), &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{128, 128}})
	m, err := layers.NewGCN(batch, d.Features, d.Labels, layers.GCNOptions{Hidden: 32})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStep(t *testing.T) {
	d := data(t)
	m := modelOver(t, d)
	r, err := bench.Step(context.Background(), m, d, bench.StepOptions{Batches: 30, Discard: 5, BatchSize: 128, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if r.Batches != 20 || !(r.MedianMS > 0) || !(r.FloorMS > 0) || !(r.RatioToFloor > 1) || !(r.SamplingMedianMS > 0) || !(r.PipelinedMS > 0) || r.BytesPerStep > 256<<10 || r.AllocsPerStep > 200 || r.BLAS == "" {
		t.Errorf("%+v", r)
	}
	if text, err := json.Marshal(r); err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := bench.Step(context.Background(), m, d, bench.StepOptions{Batches: 40}); err == nil {
		t.Error("40 batches less 2·20 passed")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := bench.Step(ctx, m, d, bench.StepOptions{}); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestSampling(t *testing.T) {
	d := data(t)
	layerWise := func(importance samplers.Importance) samplers.Sampler {
		return &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{16}, Importance: importance}
	}
	all := []samplers.Sampler{&samplers.Full{Laplacian: d.Laplacian(), Depth: 1}, layerWise(samplers.LADIES{}), layerWise(samplers.FastGCN{})}
	rows, err := bench.Sampling(context.Background(), all, d, 32, 25, 1)
	if err != nil || len(rows) != 3 {
		t.Fatal(rows, err)
	}
	for k, r := range rows {
		if !(r.MedianMS > 0) || !(r.MeanMS > 0) || !(r.SDMS > 0) || !(r.NNZ > 0) || r.Allocs < 0 {
			t.Errorf("row %d: %+v", k, r)
		}
	}
	// FastGCN draws from all nodes, LADIES from the neighbourhood.
	if full := rows[0].Candidates; !(full > 32) || !(full < 1000) || rows[1].Candidates != full || rows[2].Candidates != 1000 || !(rows[1].NNZ < rows[0].NNZ) {
		t.Errorf("%+v", rows)
	}
}

func TestInfer(t *testing.T) {
	d := data(t)
	r, err := bench.Infer(context.Background(), modelOver(t, d), d, 2)
	if err != nil || r.Nodes != 1000 || !(r.MS > 0) || !(r.NodesPerS > 0) || r.Repetitions != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}
