package train

import (
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/ranks"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// partedModel builds a model over data that ranks may hold together.
type partedModel func(t testing.TB, d *datasets.Data) *layers.Model

func methodModel(method string, o layers.GCNOptions, sizes ...int) partedModel {
	return func(t testing.TB, d *datasets.Data) *layers.Model {
		o := o
		s, err := samplers.ByName(method, samplers.Config{Laplacian: d.Laplacian(), Train: d.Split.Train, Layers: 2, Sizes: sizes})
		if err != nil {
			t.Fatal(err)
		}
		o.Hidden, o.Seed = 16, 3
		return gcnOver(t, d, s, o)
	}
}

var partedModels = map[string]partedModel{
	"ladies-flat-debiased":         methodModel("ladies-flat-debiased", layers.GCNOptions{}, 24, 24),
	"fastgcn-flat-debiased":        methodModel("fastgcn-flat-debiased", layers.GCNOptions{}, 40, 40),
	"labor":                        methodModel("labor", layers.GCNOptions{}, 2, 2),
	"neighbor":                     methodModel("neighbor", layers.GCNOptions{}, 2, 2),
	"full":                         methodModel("full", layers.GCNOptions{}),
	"residual":                     methodModel("ladies", layers.GCNOptions{Residual: true, Norm: layers.NormLayer}, 24, 24),
	"input layer, hidden residual": methodModel("labor", layers.GCNOptions{InputLayer: true, HiddenResidual: layers.ResidualLinear}, 2, 2),
	"feed-forward":                 methodModel("full", layers.GCNOptions{InputLayer: true, HiddenResidual: layers.ResidualIdentity, PreNorm: true, Norm: layers.NormLayer, FeedForward: true}),
	"hidden residual":              methodModel("neighbor", layers.GCNOptions{HiddenResidual: layers.ResidualLinear}, 2, 2),
	"attention": func(t testing.TB, d *datasets.Data) *layers.Model {
		return gcnOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}, KeepSelf: true}, layers.GCNOptions{Hidden: 16, Seed: 3, Heads: 4, AttentionDropout: 0.1})
	},
	"exact input, residual": func(t testing.TB, d *datasets.Data) *layers.Model {
		return exactModel(t, d, "ladies", layers.GCNOptions{Hidden: 16, Seed: 3, Residual: true}, 24, 24).Parts()
	},
	"ladies-cv": func(t testing.TB, d *datasets.Data) *layers.Model {
		return controlledModel(t, d, samplers.ControlRefresh, 16, 24, 24).Parts()
	},
	"linear control": func(t testing.TB, d *datasets.Data) *layers.Model { return linearModel(t, d, 16).Parts() },
	"control, in half precision": func(t testing.TB, d *datasets.Data) *layers.Model {
		s := &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}, Control: samplers.ControlRefresh, Train: d.Split.Train}
		return gcnOver(t, d, s, layers.GCNOptions{Hidden: 16, Seed: 3, ControlHalf: true})
	},
}

// fitParted trains on ranks that hold the data together, and returns their Results,
// partitions and parameters.
func fitParted(t *testing.T, size int, parts bool, data func() *datasets.Data, model partedModel, o Options) ([]*Result, []*Partition, [][]float32) {
	t.Helper()
	results, partitions, params := make([]*Result, size), make([]*Partition, size), make([][]float32, size)
	all, ctx := errgroup.WithContext(t.Context())
	for rank, g := range ranks.NewLocal(size) {
		all.Go(func() (err error) {
			o, d := o, data()
			o.Group = g
			if o.Partition, err = NewPartition(g, d, parts); err != nil {
				return err
			}
			partitions[rank] = o.Partition
			m := model(t, d)
			if results[rank], err = Fit(ctx, m, d, o); err != nil {
				return err
			}
			params[rank] = parametersOfModel(m)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	return results, partitions, params
}

func parametersOfModel(m *layers.Model) (values []float32) {
	for _, p := range m.Parameters {
		values = append(values, p.Value().Data().([]float32)...)
	}
	return values
}

// Ranks that hold the features, or all data, together train to the same bits as one process
// with all of them.
func TestSameBitsOfPartitions(t *testing.T) {
	for name, model := range partedModels {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				half         bool
				nodes, width int
				every        int // one in so many values is not 0: of P·X few, or a fifth
			}{{nodes: 300}, {half: true, nodes: 301, width: 37}, {nodes: 302, width: 200, every: 199}, {nodes: 302, width: 200, every: 23}} {
				data := func() *datasets.Data {
					d := smallData(t, c.nodes, 3)
					if c.width > 0 {
						d.Features = widened(d.Features, c.width)
						d.Graph = weighted(d.Graph)
					}
					for k := range d.Features.Data {
						if c.every > 0 && k%c.every > 0 {
							d.Features.Data[k] = 0
						}
					}
					if c.half {
						x, err := d.Features.ToHalf()
						if err != nil {
							t.Fatal(err)
						}
						d.Features = x
					}
					return d
				}
				o := Options{Batch: 16, Micro: 5, MaxBatches: 8, EvalEvery: 3, ControlEvery: 4, Seed: 5}
				d := data()
				m := model(t, d)
				want := mustFit(t, m, d, o)
				for k := range 8 {
					ranks, held := k/2+1, k%2 == 1
					results, parts, params := fitParted(t, ranks, held, data, model, o)
					for rank, got := range params {
						if !sameFloats(got, parametersOfModel(m)) {
							t.Errorf("half %v: rank %d of %d with parts %v ends with other parameters than one process", c.half, rank, ranks, held)
						}
						if r := results[rank]; r.Test != want.Test || r.Best != want.Best || r.Evaluations[1].Loss != want.Evaluations[1].Loss {
							t.Errorf("half %v: rank %d of %d scores %+v, want %+v", c.half, rank, ranks, r, want)
						}
						if ranks > 1 && parts[rank].Sent() == 0 {
							t.Errorf("rank %d of %d sent no features", rank, ranks)
						}
					}
				}
			}
		})
	}
}

// So do ranks whose rows of a layer are several chunks with other row numbers in each.
func TestSameBitsOfPartitionedChunks(t *testing.T) {
	data := func() *datasets.Data { return smallData(t, 9500, 3) }
	o := Options{Batch: 16, Micro: 2, MaxBatches: 4, EvalEvery: 2, ControlEvery: 2, Seed: 5}
	for _, name := range []string{"hidden residual", "control, in half precision"} {
		t.Run(name, func(t *testing.T) {
			d := data()
			m := partedModels[name](t, d)
			want := mustFit(t, m, d, o)
			for _, held := range []bool{false, true} {
				results, _, params := fitParted(t, 2, held, data, partedModels[name], o)
				for rank, got := range params {
					if !sameFloats(got, parametersOfModel(m)) || results[rank].Test != want.Test || results[rank].Evaluations[1].Loss != want.Evaluations[1].Loss {
						t.Errorf("rank %d with parts %v: %+v, want %+v", rank, held, results[rank], want)
					}
				}
			}
		})
	}
}

// weighted returns a with weights on its edges.
func weighted(a *graph.CSR) *graph.CSR {
	w := &graph.CSR{Rows: a.Rows, Cols: a.Cols, Ptr: a.Ptr, Idx: a.Idx}
	for i := range a.Rows {
		for _, j := range a.Row(i) {
			w.Val = append(w.Val, 1+float32((i+int(j))%3)/2)
		}
	}
	return w
}

// widened returns features with more columns.
func widened(x *graph.Features, width int) *graph.Features {
	wide := &graph.Features{Rows: x.Rows, Cols: width, Data: make([]float32, x.Rows*width)}
	for i := range wide.Data {
		wide.Data[i] = x.Data[(i*7)%len(x.Data)]
	}
	return wide
}

// A partition that a run cannot use is refused in one line.
func TestPartitionRefused(t *testing.T) {
	groups := ranks.NewLocal(2)
	d := smallData(t, 300, 3)
	p, err := NewPartition(groups[0], d, false)
	if err != nil {
		t.Fatal(err)
	}
	m := smallModel(t, d)
	if _, err := Fit(t.Context(), m, d, Options{Micro: 2, Group: groups[1], Partition: p}); err == nil || !strings.Contains(err.Error(), "another group") {
		t.Errorf("another group: %v", err)
	}
	if _, err := Fit(t.Context(), m, smallData(t, 300, 3), Options{Micro: 2, Group: groups[0], Partition: p}); err == nil || !strings.Contains(err.Error(), "other data") {
		t.Errorf("other data: %v", err)
	}
	if _, err := Predict(t.Context(), m, d, []int32{1}); err == nil || !strings.Contains(err.Error(), "other ranks hold parts") {
		t.Errorf("prediction alone: %v", err)
	}
	if _, err := NewPartition(ranks.NewLocal(400)[0], smallData(t, 300, 3), true); err == nil || !strings.Contains(err.Error(), "400 ranks") {
		t.Errorf("more ranks than nodes: %v", err)
	}
}
