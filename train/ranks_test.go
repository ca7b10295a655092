package train

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// fitOn trains on several ranks, each a goroutine with a model of its own, and returns the
// Results and parameters of all.
func fitOn(t *testing.T, size int, d *datasets.Data, model func() *layers.Model, o Options) ([]*Result, [][]float32) {
	t.Helper()
	results, params := make([]*Result, size), make([][]float32, size)
	all, ctx := errgroup.WithContext(t.Context())
	for rank, g := range ranks.NewLocal(size) {
		m := model()
		all.Go(func() (err error) {
			o := o
			o.Group = g
			if results[rank], err = Fit(ctx, m, d, o); err != nil {
				return err
			}
			for _, p := range m.Parameters {
				params[rank] = append(params[rank], p.Value().Data().([]float32)...)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	return results, params
}

func sameFloats(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// The number of ranks does not change a bit.
func TestSameBitsOnAnyRanks(t *testing.T) {
	d := smallData(t, 300, 3)
	gcn := func(s samplers.Sampler, o layers.GCNOptions) *layers.Model {
		o.Hidden, o.Seed = 16, 3
		return gcnOver(t, d, s, o)
	}
	for name, model := range map[string]func() *layers.Model{
		"ladies-flat-debiased": func() *layers.Model {
			return gcn(&samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}, Importance: samplers.LADIES{Flat: true}, Weight: samplers.Debiased{}}, layers.GCNOptions{})
		},
		"fastgcn": func() *layers.Model {
			return gcn(&samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{40, 40}, Importance: samplers.FastGCN{}}, layers.GCNOptions{})
		},
		"neighbor": func() *layers.Model {
			return gcn(&samplers.Neighbor{Laplacian: d.Laplacian(), Sizes: []int{2, 2}}, layers.GCNOptions{})
		},
		"attention": func() *layers.Model {
			return gcn(&samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}, KeepSelf: true}, layers.GCNOptions{Heads: 4, AttentionDropout: 0.1})
		},
		"exact input, residual": func() *layers.Model {
			return exactModel(t, d, "ladies", layers.GCNOptions{Hidden: 16, Seed: 3, Residual: true, Norm: layers.NormLayer}, 24, 24).Parts()
		},
		"ladies-cv": func() *layers.Model {
			return controlledModel(t, d, samplers.ControlRefresh, 16, 24, 24).Parts()
		},
		"linear control": func() *layers.Model { return linearModel(t, d, 16).Parts() },
		"batch norm, edge dropout": func() *layers.Model {
			s := &samplers.Neighbor{Laplacian: d.Laplacian(), Sizes: []int{2, 2}}
			return gcn(s, layers.GCNOptions{Norm: layers.NormBatch, InputLayer: true})
		},
		"full dropout noise": func() *layers.Model {
			return controlledOver(t, d, &samplers.LayerWise{Sizes: []int{24, 24}, Control: samplers.ControlRefresh, FullDropoutNoise: true}, 16).Parts()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Batch: 16, Micro: 5, MaxBatches: 12, EvalEvery: 4, ControlEvery: 2, Seed: 5}
			if name == "batch norm, edge dropout" {
				o.EdgeDropout = 0.2
			}
			m := model()
			want, err := Fit(t.Context(), m, d, o)
			if err != nil {
				t.Fatal(err)
			}
			for ranks := 1; ranks <= 5; ranks++ {
				results, params := fitOn(t, ranks, d, model, o)
				for rank, got := range params {
					at := 0
					for _, p := range m.Parameters {
						values := p.Value().Data().([]float32)
						if !sameFloats(values, got[at:at+len(values)]) {
							t.Fatalf("%d ranks: rank %d has another %s than one process", ranks, rank, p.Name())
						}
						at += len(values)
					}
					if r := results[rank]; r.Test != want.Test || r.Best != want.Best || r.Evaluations[2].Loss != want.Evaluations[2].Loss {
						t.Errorf("%d ranks: rank %d scores %v, want %v", ranks, rank, r, want)
					}
				}
			}
		})
	}
}

// An update takes the mean gradient of its mini-batches.
func TestMicroIsAMean(t *testing.T) {
	d := smallData(t, 300, 3)
	m := smallModel(t, d)
	p, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	start := slices.Clone(p.Parameters())
	s := Stream{Sampler: m.Batch.Sampler(), Train: d.Split.Train, BatchSize: 16, BatchesPerEpoch: 10, Seed: 5}
	loader, err := NewLoader(t.Context(), s, 1, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	want := make([]float64, len(start))
	for range 3 {
		item, err := loader.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Step(item.Blocks, item.Dropout); err != nil {
			t.Fatal(err)
		}
		for k, g := range p.Gradients() {
			want[k] += float64(g) / 3
		}
	}
	p.Close()
	// The first step of Adam moves by the rate times g/(|g|+ε), for any size of g.
	// With a large ε it is nearly rate·g/ε.
	if _, err := Fit(t.Context(), m, d, Options{Batch: 16, Micro: 3, MaxBatches: 1, Seed: 5, Adam: Adam{LR: 100, Epsilon: 1000}}); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, node := range m.Parameters {
		for _, v := range node.Value().Data().([]float32) {
			if moved := float64(start[at]-v) * 10; math.Abs(moved-want[at]) > 1e-4 {
				t.Fatalf("%s moved by the gradient %v, want %v", node.Name(), moved, want[at])
			}
			at++
		}
	}
}

// A run stopped on four ranks goes on with two, and then with one process, to the same
// files. With a control it stops at a refresh and between two.
func TestResumeOnOtherRanks(t *testing.T) {
	d := smallData(t, 300, 3)
	for name, model := range map[string]func() *layers.Model{
		"ladies": func() *layers.Model {
			return modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}, 16)
		},
		"batch norm": func() *layers.Model {
			return gcnOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}, layers.GCNOptions{Hidden: 16, Seed: 3, Norm: layers.NormBatch})
		},
		"ladies-cv":      func() *layers.Model { return controlledModel(t, d, samplers.ControlRefresh, 16, 24, 24).Parts() },
		"linear control": func() *layers.Model { return linearModel(t, d, 16).Parts() },
	} {
		t.Run(name, func(t *testing.T) { resumeOnOtherRanks(t, d, model) })
	}
}

func resumeOnOtherRanks(t *testing.T, d *datasets.Data, model func() *layers.Model) {
	whole, parts := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "parts")
	o := Options{Batch: 16, Micro: 6, MaxBatches: 12, EvalEvery: 2, ControlEvery: 4, Seed: 5, CheckpointInterval: 1, Dir: whole}
	mustFit(t, model(), d, o)
	o.Dir, o.Resume = parts, true
	for _, c := range []struct{ ranks, batches int }{{4, 4}, {2, 6}, {3, 10}} {
		o.MaxBatches = c.batches
		results, _ := fitOn(t, c.ranks, d, model, o)
		if c.batches > 4 && results[1].Resumed == 0 {
			t.Error("rank 1 started from the beginning")
		}
	}
	o.MaxBatches = 12
	mustFit(t, model(), d, o)
	for _, name := range []string{lastFile, bestFile} {
		want, err := readCheckpoint(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readCheckpoint(filepath.Join(parts, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := sameTensors(got.tensors, want.tensors); err != nil {
			t.Fatal(err)
		}
		for k, tensor := range want.tensors {
			if !sameFloats(got.tensors[k].Values, tensor.Values) {
				t.Errorf("%s: %s differs", name, tensor.Name)
			}
		}
	}
}

// Ranks that cannot train together say so.
func TestRanksThatDiffer(t *testing.T) {
	d := smallData(t, 300, 3)
	other := smallData(t, 300, 3)
	other.Features.Data[0]++
	for name, c := range map[string]struct {
		second *datasets.Data
		seed   uint64
		micro  int
		want   string
	}{
		"data":     {other, 5, 2, "rank 1 differs from rank 0 in its data"},
		"settings": {d, 6, 2, "rank 1 differs from rank 0 in its settings"},
		"micro":    {d, 5, 1, "Options.Micro (--micro) is 1; it must be at least 2"},
	} {
		t.Run(name, func(t *testing.T) {
			groups := ranks.NewLocal(2)
			errs := make([]error, 2)
			var all errgroup.Group
			for rank, g := range groups {
				data, seed := d, uint64(5)
				if rank == 1 {
					data, seed = c.second, c.seed
				}
				m := smallModel(t, data)
				all.Go(func() error {
					_, errs[rank] = Fit(t.Context(), m, data, Options{Batch: 16, Micro: c.micro, MaxBatches: 2, Seed: seed, Group: g})
					return nil
				})
			}
			all.Wait()
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("rank %d: error %v, want one with %q", rank, err, c.want)
				}
			}
		})
	}
}

// An update of several mini-batches needs no limit of batches.
func TestMicroWithoutLimit(t *testing.T) {
	d := smallData(t, 300, 3)
	for _, micro := range []int{2, 3} {
		h := mustFit(t, smallModel(t, d), d, Options{Batch: 16, Micro: micro, MaxBatches: Unlimited, Patience: 4, EvalEvery: 2, Seed: 5})
		if h.Stop != "patience" || h.Batches < 4 {
			t.Errorf("%d mini-batches an update: %d updates, stopped by %s", micro, h.Batches, h.Stop)
		}
	}
}

// A gradient that overflows on one rank ends all of them in the same update.
func TestOverflowOnOneRank(t *testing.T) {
	d := smallData(t, 300, 3)
	groups := ranks.NewLocal(2)
	errs := make([]error, 2)
	var all errgroup.Group
	for rank, g := range groups {
		m := smallModel(t, d)
		all.Go(func() error {
			_, errs[rank] = Fit(context.Background(), m, d, Options{Batch: 16, Micro: 2, MaxBatches: 50, Seed: 5, Group: g, Adam: Adam{LR: 1e30}})
			return nil
		})
	}
	all.Wait()
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "train: update 1 (epoch 0): ") || !strings.Contains(err.Error(), "not finite; try a smaller step size") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// A loss that is not finite on one rank alone ends all ranks in the same update, and all keep the
// parameters of the update before.
func TestOverflowOfOneRank(t *testing.T) {
	d := smallData(t, 300, 3)
	spoiled := smallData(t, 300, 3)
	for k, cols := 0, spoiled.Features.Cols; k < cols; k++ {
		spoiled.Features.Data[int(d.Split.Train[7])*cols+k] = float32(math.Inf(1))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	errs, params := make([]error, 3), make([][]float32, 3)
	var all errgroup.Group
	for rank, g := range ranks.NewLocal(3) {
		of := d
		if rank == 1 {
			of = spoiled // in the model's memory only: the ranks have opened the same data
		}
		m := gcnOver(t, of, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{8, 8}}, layers.GCNOptions{Hidden: 8, Seed: 3})
		all.Go(func() error {
			_, errs[rank] = Fit(ctx, m, d, Options{Batch: 4, Micro: 3, MaxBatches: 200, EvalEvery: 200, Seed: 5, Group: g})
			for _, p := range m.Parameters {
				params[rank] = append(params[rank], p.Value().Data().([]float32)...)
			}
			return nil
		})
	}
	all.Wait()
	update := regexp.MustCompile(`^train: update [1-9]\d* `)
	for rank, err := range errs {
		if err == nil || !errors.Is(err, ErrNotFinite) || update.FindString(err.Error()) == "" || update.FindString(err.Error()) != update.FindString(errs[0].Error()) {
			t.Errorf("rank %d: %v; rank 0: %v", rank, err, errs[0])
		}
		if !sameFloats(params[rank], params[0]) || !kernel.Finite(params[rank]) {
			t.Errorf("rank %d ends with other parameters, or not with numbers", rank)
		}
	}
}

// The ranks report one imbalance, which TestImbalance of package ranks checks.
func TestImbalance(t *testing.T) {
	d := smallData(t, 300, 3)
	if alone, _ := fitOn(t, 1, d, func() *layers.Model { return smallModel(t, d) }, Options{Batch: 16, Micro: 2, MaxBatches: 4}); alone[0].Imbalance != 0 {
		t.Errorf("one rank: %v", alone[0].Imbalance)
	}
	results, _ := fitOn(t, 2, d, func() *layers.Model { return smallModel(t, d).Parts() }, Options{Batch: 16, Micro: 2, MaxBatches: 4, Seed: 5})
	for rank, r := range results {
		if !(r.Imbalance >= 1 && r.Imbalance <= 2) || r.Imbalance != results[0].Imbalance || !(r.CommMS > 0) {
			t.Errorf("rank %d: %+v", rank, r)
		}
	}
}

// Features that overflow in the first update are the cause of it, not the step size.
func TestOverflowInFirstUpdate(t *testing.T) {
	d := smallData(t, 300, 3)
	for k := range d.Features.Data {
		d.Features.Data[k] *= 1e38
	}
	_, err := Fit(context.Background(), smallModel(t, d), d, Options{Batch: 16, Micro: 3, MaxBatches: 50, Seed: 5})
	if err == nil || !strings.Contains(err.Error(), "train: update 0 (epoch 0): ") || !strings.Contains(err.Error(), "features or starting parameters are too large") {
		t.Errorf("error %v", err)
	}
}

// lowestOnly is a sampler that leaves out all blocks but the lowest.
type lowestOnly struct{ *samplers.Full }

func (s lowestOnly) Sample(ctx context.Context, seeds []int32, rng *rand.Rand, batch *samplers.MiniBatch) error {
	err := s.Full.Sample(ctx, seeds, rng, batch)
	batch.Blocks = batch.Blocks[:1]
	return err
}

// The error of a step names the package once, with one mini-batch an update and with two.
func TestErrorOfAnUpdate(t *testing.T) {
	d := smallData(t, 60, 3)
	for _, micro := range []int{1, 2} {
		m := modelOver(t, d, lowestOnly{&samplers.Full{Laplacian: d.Laplacian(), Depth: 2}}, 4)
		_, err := Fit(t.Context(), m, d, Options{Micro: micro, MaxBatches: 2, Batch: 8})
		if err == nil || strings.Count(err.Error(), "train: ") != 1 || !strings.HasPrefix(err.Error(), "train: ") {
			t.Errorf("%d mini-batches an update: error %v", micro, err)
		}
	}
}
