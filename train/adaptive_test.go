package train

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

func adaptiveModel(t testing.TB, d *datasets.Data) *layers.Model {
	return modelOver(t, d, &samplers.ASGCN{Laplacian: d.Laplacian(), Features: d.Features, Sizes: []int{24, 24}}, 16)
}

// TestFitWithAdaptiveSampler checks that a sampler that learns gives the same bits for any
// number of workers and cores, and if the run is stopped and resumed at any batch.
func TestFitWithAdaptiveSampler(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := smallData(t, 300, 3)
	o := short()
	run := func(o Options) []float32 {
		m := adaptiveModel(t, d)
		if h := mustFit(t, m, d, o); h.StateBytes != 5*4*12 {
			t.Errorf("state of %d bytes", h.StateBytes)
		}
		return weightsOf(t, m)
	}
	want := run(o)
	fixed := modelOver(t, d, &samplers.ASGCN{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}, 16)
	if mustFit(t, fixed, d, o); slices.Equal(weightsOf(t, fixed), want) {
		t.Error("the weights do not depend on the sampler's parameters")
	}
	for _, workers := range []int{1, 2, 9} { // 19 batches ahead: nearly two periods
		runtime.GOMAXPROCS(1 + workers%3)
		o.Workers = workers
		if !slices.Equal(run(o), want) {
			t.Errorf("%d workers: the weights differ", workers)
		}
	}
	for _, stop := range []int{1, 9, 10, 11, 23, 40} {
		o.Dir, o.Resume = t.TempDir(), true
		ctx, progress := afterBatch(stop)
		o.Progress = progress
		if _, err := Fit(ctx, adaptiveModel(t, d), d, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		o.Progress = nil
		if !slices.Equal(run(o), want) {
			t.Errorf("resumed after batch %d: the weights differ", stop)
		}
		if _, err := Fit(context.Background(), fixed, d, o); err == nil {
			t.Error("a run of a sampler that learns is resumed with one that does not")
		}
		o.Dir, o.Resume = "", false
	}
	o.Micro = 2
	if _, err := Fit(context.Background(), adaptiveModel(t, d), d, o); err == nil || !strings.Contains(err.Error(), "one mini-batch an update") {
		t.Errorf("two mini-batches an update: %v", err)
	}
	o.Micro, o.EdgeDropout = 0, 0.5
	for _, m := range []Model{adaptiveModel(t, d), controlledModel(t, d, samplers.ControlRefresh, 16, 24, 24)} {
		if _, err := Fit(context.Background(), m, d, o); err == nil || !strings.Contains(err.Error(), "EdgeDropout") {
			t.Errorf("edge dropout: %v", err)
		}
	}
	o.EdgeDropout = 0
	attention := gcnOver(t, d, adaptiveModel(t, d).Batch.Sampler(), layers.GCNOptions{Hidden: 16, Heads: 2})
	if _, err := Fit(context.Background(), attention, d, o); err == nil || !strings.Contains(err.Error(), "own node") {
		t.Errorf("attention: %v", err)
	}
}

// TestSamplerLearns checks that training lowers the variance that the sampler minimises. The
// activations of every tenth node, which a feature marks, are six times as long as the others.
func TestSamplerLearns(t *testing.T) {
	d := smallData(t, 300, 3)
	long := func(node int32) bool { return node%10 == 0 }
	for i := range int32(d.Nodes()) {
		row := d.Features.Row(int(i))
		if row[5] = 0; long(i) {
			row[5] = 3
		}
	}
	s, err := newSamplerSchedule(adaptiveModel(t, d), Options{Adam: Adam{LR: 0.02}})
	if err != nil {
		t.Fatal(err)
	}
	squares := func(b *graph.Block) []float32 {
		all := make([]float32, len(b.Src))
		for k, node := range b.Src {
			if all[k] = 1; long(node) {
				all[k] = 36
			}
		}
		return all
	}
	// The sum of the squared terms of an estimate, in the mean of many batches of the same
	// rows: the variance and a part that no law changes.
	var batch samplers.MiniBatch
	terms := func(law samplers.Sampler) (mean float64) {
		const batches = 4000
		for k := range batches {
			if err := law.Sample(context.Background(), d.Split.Train[:40], rand.New(samplers.NewSource(1, 2, uint64(k))), &batch); err != nil {
				t.Fatal(err)
			}
			top := batch.Blocks[1]
			for c, square := range squares(top) {
				for _, v := range top.Transposed.RowValues(c) {
					mean += float64(v) * float64(v) * float64(square) / batches
				}
			}
		}
		return mean
	}
	before := terms(s.laws[0])
	stream := &Stream{Sampler: s.base, Train: d.Split.Train, BatchSize: 40, BatchesPerEpoch: 10, Seed: 5, sampler: s}
	drawer, item := newDrawer(stream), &Item{Blocks: &batch}
	for k := range 400 {
		if drawer.draw(context.Background(), k, item); item.err != nil {
			t.Fatal(item.err)
		}
		if err := s.learn(batch.Blocks[1], squares(batch.Blocks[1]), k+1); err != nil {
			t.Fatal(err)
		}
	}
	after := terms(s.laws[0])
	t.Logf("squared terms %.4g, then %.4g; w %.3v", before, after, s.values)
	if !(after < 0.9*before) {
		t.Errorf("the squared terms of an estimate are %v before training and %v after it", before, after)
	}
}
