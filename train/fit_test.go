package train

import (
	"context"
	"testing"
	"time"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

func TestTry(t *testing.T) {
	d, err := datasets.Open(context.Background(), "synth:demo", datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := G.NewGraph()
	b := layers.NewBatch(g, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{512, 512}})
	m, err := layers.NewGCN(b, d.Features, d.Labels, layers.GCNOptions{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	h, err := Fit(context.Background(), Model{Batch: b, Loss: m.Loss, Logits: m.Logits, Parameters: m.Parameters}, d, Options{MaxBatches: 50, Progress: func(p Progress) {
		if p.Evaluated {
			t.Logf("%+v", p)
		}
	}})
	t.Logf("%+v %v", h, err)
	t.Log(time.Since(start))
}
