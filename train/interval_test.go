package train

import (
	"context"
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// TestEvaluationInterval checks the part that evaluations take, the two limits, and that
// neither the seed nor the workers count.
func TestEvaluationInterval(t *testing.T) {
	d, err := datasets.Open(context.Background(), "synth:demo", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	interval := func(hidden, size int, o Options) (int, float64) {
		t.Helper()
		m := modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{size, size}}, hidden)
		n, share, err := EvaluationInterval(context.Background(), m, d, o)
		if err != nil {
			t.Fatal(err)
		}
		return n, share
	}
	free := Options{MaxBatches: 1_000_000, Patience: Unlimited}
	n, share := interval(64, 512, free)
	if n < 3 || n > 500 || math.Abs(share-0.25) > 0.02 {
		t.Errorf("%d batches, a share of %v", n, share)
	}
	own := modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{512, 512}}, 64)
	own.Inference = nil // as a model of one's own
	if of, _, err := EvaluationInterval(context.Background(), own, d, free); err != nil || of != n {
		t.Errorf("%d batches of the same graph without an inference of its own, not %d: %v", of, n, err)
	}
	smaller, _ := interval(64, 64, free)
	if smaller <= n {
		t.Errorf("%d batches of smaller samples, %d of larger ones", smaller, n)
	}
	for _, micro := range []int{2, 3} { // updates, each of so many batches
		o := free
		o.Micro = micro
		got, share := interval(64, 512, o)
		if want := (n + micro - 1) / micro; got != want && got != want-1 || math.Abs(share-0.25) > 0.05 {
			t.Errorf("%d mini-batches an update: %d updates, want about %d; a share of %v", micro, got, want, share)
		}
	}
	for what, o := range map[string]Options{"seed": {Seed: 77}, "workers": {Workers: 5}} {
		o.MaxBatches, o.Patience = free.MaxBatches, free.Patience
		if again, _ := interval(64, 512, o); again != n {
			t.Errorf("another %s gives %d batches, not %d", what, again, n)
		}
	}
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Options{MaxBatches: 20}, 2}, {Options{MaxBatches: 5}, 1}, {Options{MaxBatches: 1_000_000, Patience: 4}, 2},
		{Options{MaxBatches: Unlimited, Epochs: 3, BatchesPerEpoch: 10}, 3},
	} {
		got, share := interval(64, 64, c.o)
		if got != c.want || share < 0.25 {
			t.Errorf("%+v: %d batches, want %d; a share of %v", c.o, got, c.want, share)
		}
	}
	// A pass over the training nodes has one evaluation at most.
	o := free
	o.Batch = 17
	const pass = 589 // mini-batches, of 10,000 nodes
	if got, share := interval(64, 512, o); got != pass || share > 0.2 {
		t.Errorf("%d batches of 17 of %d nodes, want a pass, %d; a share of %v", got, len(d.Split.Train), pass, share)
	}
	d.Split.Train = d.Split.Train[:600]
	// Refreshes are work too: with them evaluations may come more often.
	controlled := func(every int) int {
		o := free
		o.ControlEvery = every
		n, share, err := EvaluationInterval(context.Background(), controlledModel(t, d, samplers.ControlRefresh, 64, 512), d, o)
		if err != nil || math.Abs(share-0.25) > 0.05 {
			t.Fatalf("refreshes every %d batches: a share of %v, %v", every, share, err)
		}
		return n
	}
	if often, seldom := controlled(2), controlled(1000); often >= seldom {
		t.Errorf("%d batches with refreshes every 2 batches, %d with refreshes every 1000", often, seldom)
	}
	for limit := 1; limit < 2000; limit += 7 { // a tenth of the limit and half of the patience
		o := Options{MaxBatches: limit, Patience: 1 + limit%300}
		if n, _ := interval(64, 64, o); n > max(1, limit/10) || n > max(1, o.Patience/2) {
			t.Fatalf("%+v: an evaluation every %d batches", o, n)
		}
	}
	d.Split.Valid = nil
	if n, share := interval(64, 512, Options{}); n != 1 || share != 0 {
		t.Errorf("without validation nodes: %d, %v", n, share)
	}
}

// TestStepOperations compares the counts of a step's dense products with a count by hand.
func TestStepOperations(t *testing.T) {
	d := smallData(t, 60, 3)
	sampler := &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{10, 12}}
	for _, residual := range []bool{false, true} {
		dense := func(order layers.Order) float64 {
			// The difference of two widths leaves the operations that grow with the width.
			count := func(hidden int) float64 {
				m := gcnOver(t, d, sampler, layers.GCNOptions{Hidden: hidden, Order: order, Residual: residual})
				counter, err := NewCounter(m)
				if err != nil {
					t.Fatal(err)
				}
				return counter.Step(sampled(t, m, d.Split.Train[:9], 0))
			}
			const h = 1 << 12 // the square of the width is nearly all of the count
			return count(h) / h / h
		}
		// The second convolution: three products of (9 or 10)×h×h, and Adam's parameters.
		for order, rows := range map[layers.Order]float64{layers.PropagateFirst: 9, layers.TransformFirst: 10} {
			if got, want := dense(order), 3*rows+16; math.Abs(got-want) > 0.9 {
				t.Errorf("order %d, residual %v: %v per squared width, want %v", order, residual, got, want)
			}
		}
	}
}
