package notebook_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/notebook"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// A notebook shows the last value of a cell: run.Curves(), run.Summary().
func Example() {
	ctx := context.Background()
	data, err := datasets.Open(ctx, "synth:demo?nodes=1000&edges=5000", datasets.Options{})
	notebook.Must(err)
	sampler, err := samplers.ByName("ladies-flat-debiased", samplers.Config{
		Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{128, 256},
	})
	notebook.Must(err)
	batch := layers.NewBatch(G.NewGraph(), sampler)
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 32, Seed: 1})
	notebook.Must(err)

	run := notebook.NewRun(model, data, train.Options{Seed: 1, Batch: 128, MaxBatches: 40})
	defer run.Close()
	run.Progress = &notebook.Progress{Out: io.Discard}
	notebook.Must(run.Fit(ctx))

	fmt.Println(run.Result().Batches, "batches")
	fmt.Println(strings.HasPrefix(run.Curves().SVG(), "<svg"), strings.HasPrefix(run.Summary().HTML(), "<table>"))
	// Output:
	// 40 batches
	// true true
}

func ExampleSheet() {
	s := notebook.NewSheet("Nodes drawn", "layer", "nodes", "share")
	s.Add("output", 512, 0.25)
	s.Add("input", 1024, 2.0/3)
	fmt.Print(s)
	// Output:
	// Nodes drawn
	// layer   nodes  share
	// output  512    0.25
	// input   1024   0.6667
}
