package notebook

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

func TestSampling(t *testing.T) {
	ctx := context.Background()
	data := small(t)
	full, err := Sampling{
		Sampler: &samplers.Full{Laplacian: data.Laplacian(), Depth: 2}, Laplacian: data.Laplacian(),
		Features: data.Features, Nodes: data.Split.Train, Batch: 32, Batches: 3,
	}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for k, l := range full.Layers {
		if l.Layer != 2-k || l.Drawn != l.Candidates || l.Entries != l.Full || !(l.Error <= 1e-6) || math.Abs(l.Factors.Max) > 1e-6 {
			t.Errorf("full neighbourhoods, layer %d: %+v", l.Layer, l)
		}
	}

	s := Sampling{Laplacian: data.Laplacian(), Features: data.Features, Nodes: data.Split.Train, Batch: 32, Batches: 4, Seed: 5}
	if s.Sampler, err = samplers.ByName("ladies-flat-debiased", samplers.Config{Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{20}}); err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Layers[0]; got.Rows != 32 || got.Drawn != 20 || report.Layers[1].Rows != 20 || got.Entries >= got.Full || !(got.Error >= 0.1) || got.ErrorSEM == 0 {
		t.Errorf("layer %+v", got)
	}
	// The first layer again, the slow and obvious way.
	var entries, square, norm float64
	candidates := 0
	p := data.Laplacian()
	var batch samplers.MiniBatch
	rng := rand.New(samplers.NewSource(5, 0, 0))
	if err := s.Sampler.Sample(ctx, study.RandomBatch(rng, s.Nodes, 32), rng, &batch); err != nil {
		t.Fatal(err)
	}
	block := batch.Blocks[1]
	for j := range data.Nodes() {
		for _, i := range block.Dst {
			if p.At(int(i), j) != 0 {
				candidates++
				break
			}
		}
	}
	for i, row := range block.Dst {
		entries += float64(block.Matrix.Degree(i))
		for c := range data.Features.Cols {
			var exact, estimate float64
			for j := range data.Nodes() {
				exact += float64(p.At(int(row), j)) * float64(data.Features.Row(j)[c])
			}
			for k, local := range block.Matrix.Row(i) {
				estimate += float64(block.Matrix.RowValues(i)[k]) * float64(data.Features.Row(int(block.Src[local]))[c])
			}
			square += (estimate - exact) * (estimate - exact)
			norm += exact * exact
		}
	}
	s.Batches = 1
	if report, err = s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	got := report.Layers[0]
	if got.Candidates != float64(candidates) || got.Entries != entries || !(math.Abs(got.Error-math.Sqrt(square/norm)) <= 1e-5) {
		t.Errorf("%v candidates, %v entries, error %v; want %d, %v, %v", got.Candidates, got.Entries, got.Error, candidates, entries, math.Sqrt(square/norm))
	}
	wellFormed(t, report.Chart().SVG(), "svg")
	wellFormed(t, report.Sheet().HTML(), "table")
	if len(report.Header()) != len(report.Records()[0]) {
		t.Errorf("%d names for %d columns", len(report.Header()), len(report.Records()[0]))
	}

	for _, bad := range []Sampling{{}, {Sampler: s.Sampler, Laplacian: p}, {Sampler: s.Sampler, Laplacian: p, Nodes: s.Nodes, Features: &graph.Features{Rows: 3}}} {
		if _, err := bad.Run(ctx); err == nil {
			t.Errorf("no error about %+v", bad)
		}
	}
}
