package samplers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

var arxiv = sync.OnceValues(func() (*datasets.Data, error) {
	return datasets.Open(context.Background(), "synth:arxiv", datasets.Options{})
})

// BenchmarkSample draws one layer for 512 training nodes on one goroutine, as
// the paper's table of sampling times does.
func BenchmarkSample(b *testing.B) {
	data, err := arxiv()
	if err != nil {
		b.Fatal(err)
	}
	p := graph.NewLaplacian(data.Graph)
	for _, method := range samplers.Methods() {
		for _, size := range []int{512, 1024} {
			b.Run(fmt.Sprintf("method=%s/s=%d", method.Name, size), func(b *testing.B) {
				sampler, err := samplers.ByName(method.Name, samplers.Config{
					Laplacian: p, Train: data.Split.Train, Layers: 1, Sizes: []int{size},
				})
				if err != nil {
					b.Fatal(err)
				}
				source := samplers.NewSource(1, 0, 0)
				rng := rand.New(source)
				batches := make([][]int32, 64)
				for k := range batches {
					for _, i := range rng.Perm(len(data.Split.Train))[:512] {
						batches[k] = append(batches[k], data.Split.Train[i])
					}
				}
				var batch samplers.MiniBatch
				entries := int64(0)
				for _, seeds := range batches {
					if err := sampler.Sample(context.Background(), seeds, rng, &batch); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				for k := 0; b.Loop(); k++ {
					samplers.Seed(source, 1, 0, uint64(k))
					if err := sampler.Sample(context.Background(), batches[k%len(batches)], rng, &batch); err != nil {
						b.Fatal(err)
					}
					entries += batch.Blocks[0].Matrix.NNZ()
				}
				b.ReportMetric(float64(entries)/float64(b.N), "nnz/op")
			})
		}
	}
}

// BenchmarkWorkers draws the same batches with one sampler on one goroutine, then
// on two. An op is a batch: two cores halve its time at best.
func BenchmarkWorkers(b *testing.B) {
	data, err := arxiv()
	if err != nil {
		b.Fatal(err)
	}
	seeds := make([][]int32, 256)
	rng := rand.New(samplers.NewSource(1, 0, 0))
	for k := range seeds {
		for _, i := range rng.Perm(len(data.Split.Train))[:512] {
			seeds[k] = append(seeds[k], data.Split.Train[i])
		}
	}
	sampler := samplers.Prepared(&samplers.LayerWise{Laplacian: data.Laplacian(), Sizes: []int{512}})
	draw := func(from, to int) error {
		source := samplers.NewSource(1, 0, 0)
		rng := rand.New(source)
		var batch samplers.MiniBatch
		for k := from; k < to; k++ {
			samplers.Seed(source, 1, 0, uint64(k))
			if err := sampler.Sample(context.Background(), seeds[k%len(seeds)], rng, &batch); err != nil {
				return err
			}
		}
		return nil
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			var all errgroup.Group
			for w := range workers {
				all.Go(func() error { return draw(b.N*w/workers, b.N*(w+1)/workers) })
			}
			if err := all.Wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
