package samplers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// BenchmarkNeighbor draws one layer for 512 training nodes on one goroutine.
func BenchmarkNeighbor(b *testing.B) {
	data, err := arxiv()
	if err != nil {
		b.Fatal(err)
	}
	p := graph.NewLaplacian(data.Graph)
	for _, c := range []struct {
		name       string
		importance samplers.Importance
		draw       samplers.Draw
	}{
		{"uniform", nil, nil},
		{"replacement", nil, samplers.WithReplacement{}},
		{"ladies", samplers.LADIES{}, nil},
		{"ladies-flat", samplers.LADIES{Flat: true}, nil},
	} {
		for _, k := range []int{2, 10} {
			b.Run(fmt.Sprintf("law=%s/k=%d", c.name, k), func(b *testing.B) {
				benchmarkLayer(b, &samplers.Neighbor{
					Laplacian: p, Sizes: []int{k}, Importance: c.importance, Draw: c.draw,
				}, data.Split.Train)
			})
		}
	}
}

// benchmarkLayer draws batches of 512 of the nodes train.
func benchmarkLayer(b *testing.B, sampler samplers.Sampler, train []int32) {
	samplers.Prepared(sampler)
	source := samplers.NewSource(1, 0, 0)
	rng := rand.New(source)
	batches := make([][]int32, 64)
	for k := range batches {
		for _, i := range rng.Perm(len(train))[:512] {
			batches[k] = append(batches[k], train[i])
		}
	}
	var batch samplers.MiniBatch
	entries := int64(0)
	sample := func(k int) {
		samplers.Seed(source, 1, 0, uint64(k))
		if err := sampler.Sample(context.Background(), batches[k%len(batches)], rng, &batch); err != nil {
			b.Fatal(err)
		}
		entries += batch.Blocks[0].Matrix.NNZ()
	}
	for k := range batches {
		sample(k)
	}
	entries = 0
	b.ReportAllocs()
	for k := 0; b.Loop(); k++ {
		sample(k)
	}
	b.ReportMetric(float64(entries)/float64(b.N), "nnz/op")
}
