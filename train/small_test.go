package train

import (
	"math/rand/v2"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// smallData returns a graph with communities, and noisy features that depend on the
// community: 60% training, 20% validation, 20% test nodes.
func smallData(t testing.TB, nodes, classes int) *datasets.Data {
	t.Helper()
	const features = 12
	rng := rand.New(rand.NewPCG(7, 7))
	builder, err := graph.NewBuilder(nodes)
	if err != nil {
		t.Fatal(err)
	}
	for range nodes * 4 {
		u := rng.IntN(nodes)
		v := rng.IntN(nodes)
		if rng.Float64() < 0.8 { // the same community
			v = v/classes*classes + u%classes
		}
		if v < nodes {
			if err := builder.Add(int32(u), int32(v)); err != nil {
				t.Fatal(err)
			}
		}
	}
	d := &datasets.Data{
		Name:     "small",
		Features: &graph.Features{Rows: nodes, Cols: features, Data: make([]float32, nodes*features)},
		Labels:   &graph.Labels{Classes: classes, Class: make([]int32, nodes)},
		Metric:   datasets.Accuracy,
	}
	d.Graph, d.Report = builder.Build()
	for i := range nodes {
		class := i % classes
		row := d.Features.Row(i)
		for j := range row {
			row[j] = float32(rng.NormFloat64())
		}
		row[class%features]++
		if rng.IntN(8) == 0 { // noise, so that no model scores 1
			class = rng.IntN(classes)
		}
		d.Labels.Class[i] = int32(class)
	}
	for k, i := range rng.Perm(nodes) {
		switch {
		case k < nodes*6/10:
			d.Split.Train = append(d.Split.Train, int32(i))
		case k < nodes*8/10:
			d.Split.Valid = append(d.Split.Valid, int32(i))
		default:
			d.Split.Test = append(d.Split.Test, int32(i))
		}
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

// smallModel returns a two-layer GCN of width 16 over layer-wise samples of 24.
func smallModel(t testing.TB, d *datasets.Data) *layers.Model {
	return modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 24}}, 16)
}

func modelOver(t testing.TB, d *datasets.Data, s samplers.Sampler, hidden int) *layers.Model {
	t.Helper()
	return gcnOver(t, d, s, layers.GCNOptions{Hidden: hidden, Seed: 3})
}

func gcnOver(t testing.TB, d *datasets.Data, s samplers.Sampler, o layers.GCNOptions) *layers.Model {
	t.Helper()
	batch := layers.NewBatch(G.NewGraph(), s)
	gcn, err := layers.NewGCN(batch, d.Features, d.Labels, o)
	if err != nil {
		t.Fatal(err)
	}
	return gcn.Parts()
}

// weightsOf returns a copy of all parameters of m, in order.
func weightsOf(t testing.TB, m *layers.Model) []float32 {
	t.Helper()
	params, err := parametersOf(m)
	if err != nil {
		t.Fatal(err)
	}
	var all []float32
	for _, p := range params {
		all = append(all, p.values...)
	}
	return all
}
