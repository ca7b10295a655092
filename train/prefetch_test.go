package train

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/samplers"
)

// The workers request the rows of each batch once, sorted, and the step does not request
// them again. A batch of no loader is requested by its step. The losses stay the same.
func TestPrefetchByWorkers(t *testing.T) {
	data := func() *datasets.Data {
		d, err := datasets.Open(context.Background(), "synth:demo?nodes=400&edges=2000&features=8", datasets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	losses := func(d *datasets.Data) (all []float64) {
		m := smallModel(t, d)
		program, err := NewProgram(m)
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		stream := Stream{Sampler: m.Batch.Sampler(), Train: d.Split.Train, BatchSize: 16, BatchesPerEpoch: 5, Seed: 1, Prefetch: m.Batch.Prefetch}
		loader, err := NewLoader(t.Context(), stream, 2, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		defer loader.Close()
		for range 10 {
			item, err := loader.Next()
			if err != nil {
				t.Fatal(err)
			}
			loss, err := program.Step(item.Blocks, item.Dropout)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, loss)
		}
		return all
	}
	want := losses(data())
	d := data()
	var mutex sync.Mutex
	requests := 0
	d.Features.Prefetch = func(rows []int32) {
		mutex.Lock()
		defer mutex.Unlock()
		if requests++; !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) || len(rows) == 0 {
			t.Errorf("rows %v", rows)
		}
	}
	if got := losses(d); !slices.Equal(got, want) {
		t.Errorf("losses %v, want %v", got, want)
	}
	if requests != 10 {
		t.Errorf("%d requests for 10 batches", requests)
	}
	m := smallModel(t, d)
	program, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	d.Features.Prefetch = func([]int32) { requests++ }
	var batch samplers.MiniBatch
	for k := range 3 {
		rng, before := rand.New(samplers.NewSource(1, 0, uint64(k))), requests
		if err := m.Batch.Sampler().Sample(t.Context(), d.Split.Train[:16], rng, &batch); err != nil {
			t.Fatal(err)
		}
		if _, err := program.Step(&batch, 1); err != nil {
			t.Fatal(err)
		}
		if requests != before+1 {
			t.Errorf("batch %d of no loader: %d requests", k, requests-before)
		}
	}
}
