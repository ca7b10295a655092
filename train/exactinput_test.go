package train

import (
	"context"
	"math"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

func exactInput(t testing.TB, data *datasets.Data) *layers.ExactInput {
	t.Helper()
	e, err := layers.NewExactInput(context.Background(), data.Laplacian(), data.Features, data.Propagated, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// exactModel is a model with exact input, of two or more layers.
func exactModel(t testing.TB, data *datasets.Data, method string, o layers.GCNOptions, sizes ...int) *layers.GCN {
	t.Helper()
	sampler, err := samplers.ByName(method, samplers.Config{
		Laplacian: data.Laplacian(), Train: data.Split.Train, Layers: len(sizes), Sizes: sizes, ExactInput: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	o.ExactInput = exactInput(t, data)
	m, err := layers.NewGCN(layers.NewBatch(G.NewGraph(), sampler), data.Features, data.Labels, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A model with exact input trains to the same losses on the CPU and on the device, and
// gives the same logits.
func TestExactInputOnDevice(t *testing.T) {
	d := testDevice(t)
	data, _, batch := demo(t, d, "ladies")
	rounded, err := data.Features.ToHalf()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		method  string
		sizes   []int
		px      *graph.Features // any matrix of the right size
		options layers.GCNOptions
	}{
		"layer-wise":        {method: "ladies-flat-debiased", sizes: []int{96}},
		"norm and residual": {method: "neighbor", sizes: []int{2, 2}, options: layers.GCNOptions{Norm: layers.NormLayer, Residual: true}},
		"histories":         {method: "vrgcn", sizes: []int{2}},
		"refreshed":         {method: "ladies-cv", sizes: []int{96, 96}},
		"half precision":    {method: "ladies", sizes: []int{96}, px: rounded},
		"linear control":    {method: "ladies-cv", sizes: []int{96}, options: layers.GCNOptions{ControlLinear: true}},
		"of P·X in half":    {method: "ladies-cv", sizes: []int{96}, px: rounded, options: layers.GCNOptions{ControlLinear: true}},
	} {
		t.Run(name, func(t *testing.T) {
			data.Propagated = c.px
			c.options.Hidden = 64
			model := func(device *ops.Device) *layers.GCN {
				m := exactModel(t, data, c.method, c.options, c.sizes...)
				m.Device = device
				return m
			}
			cpu, gpu := model(nil), model(d)
			const n = 20
			want, _ := losses(t, &cpu.Model, data, batch, n, Adam{})
			got, _ := losses(t, &gpu.Model, data, batch, n, Adam{})
			for k := range want {
				if diff := math.Abs(float64(got[k] - want[k])); diff > 1e-4*float64(want[k]) {
					t.Fatalf("loss %d is %v on the device, %v on the CPU", k, got[k], want[k])
				}
			}
			nodes := data.Split.Valid[:40]
			logits, err := Predict(context.Background(), cpu, data, nodes)
			if err != nil {
				t.Fatal(err)
			}
			on, err := Predict(context.Background(), gpu, data, nodes)
			if err != nil {
				t.Fatal(err)
			}
			agreeTo(t, "logits", on, logits, 1e-3)
		})
	}
}
