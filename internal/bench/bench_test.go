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

func TestInfer(t *testing.T) {
	d := data(t)
	r, err := bench.Infer(context.Background(), modelOver(t, d), d, 2)
	if err != nil || r.Nodes != 1000 || !(r.MS > 0) || !(r.NodesPerS > 0) || r.Repetitions != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestScale(t *testing.T) {
	d := data(t)
	evicted := false
	o := bench.ScaleOptions{Batches: 6, BatchSize: 64, Workers: 2, Evaluate: true, Evict: func() error { evicted = true; return nil }}
	r, err := bench.Scale(context.Background(), modelOver(t, d), d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", r)
	if !evicted || r.BatchSize != 64 || !(r.SamplingMS > 0) || !(r.StepMS > 0) || !(r.PipelinedMS > 0) || !(r.FirstMS > 0) || !(r.OwnMB > 1) || !(r.EvalMS > 0) || !(r.EvalMB > 1) {
		t.Errorf("%+v", r)
	}
	if mean := r.Entries / (64 + 128); r.Inputs > 128 || mean < 5 || mean > 40 { // rows of 11 entries on average, and better connected ones more often
		t.Errorf("%v inputs, %v entries a row", r.Inputs, mean)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := bench.Scale(ctx, modelOver(t, d), d, o); err != context.Canceled {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
