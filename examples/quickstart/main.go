// Command quickstart trains the paper's model on a generated graph and prints its
// test score. Its argument may be the SPEC of another data set.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func main() {
	spec := "synth:demo"
	if len(os.Args) > 1 {
		spec = os.Args[1]
	}
	if err := run(context.Background(), spec); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, spec string) error {
	data, err := datasets.Open(ctx, spec, datasets.Options{})
	if err != nil {
		return err
	}
	sampler := &samplers.LayerWise{
		Laplacian:  data.Laplacian(),
		Sizes:      []int{512, 1024}, // nodes drawn, the layer next to the output first
		Importance: samplers.LADIES{Flat: true},
		Draw:       samplers.WithoutReplacement{},
		Weight:     samplers.Debiased{},
	}
	batch := layers.NewBatch(G.NewGraph(), sampler) // the graph gets a place for the sampler's blocks
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Seed: 1})
	if err != nil {
		return err
	}
	result, err := train.Fit(ctx, model, data, train.Options{Seed: 1, MaxBatches: 300})
	if err != nil {
		return err
	}
	fmt.Printf("%s: test %s %.3f after %d batches\n", data.Name, data.Metric, result.Test, result.Batches)
	return nil
}
