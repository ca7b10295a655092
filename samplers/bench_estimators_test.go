package samplers_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// BenchmarkEstimators reports ‖P̃H − PH‖²/‖PH‖² and the number of input nodes of one
// layer, for every draw and weight: 512 training nodes of synth:arxiv, and H of
// independent normal entries. -benchtime 200x makes 200 batches.
func BenchmarkEstimators(b *testing.B) {
	data, err := arxiv()
	if err != nil {
		b.Fatal(err)
	}
	p := graph.NewLaplacian(data.Graph)
	const width = 16
	rng := rand.New(samplers.NewSource(1, 0, 0))
	h := make([]float64, p.Nodes()*width)
	for i := range h {
		h[i] = rng.NormFloat64()
	}
	var batches [][]int32
	for range 8 {
		var seeds []int32
		for _, i := range rng.Perm(len(data.Split.Train))[:512] {
			seeds = append(seeds, data.Split.Train[i])
		}
		batches = append(batches, seeds)
	}
	measure := func(name string, sampler samplers.Sampler) {
		samplers.Prepared(sampler)
		b.Run(name, func(b *testing.B) {
			g := rand.New(samplers.NewSource(2, 0, 0))
			var batch samplers.MiniBatch
			var exact [][]float64
			norm2 := 0.0
			for _, seeds := range batches {
				rows, err := samplertest.Simulate(&samplers.Full{Laplacian: p, Depth: 1}, p, seeds, h, width, 1, 1)
				if err != nil {
					b.Fatal(err)
				}
				exact = append(exact, rows.Exact)
				for _, v := range rows.Exact {
					norm2 += v * v / float64(len(batches))
				}
			}
			var error2, inputs float64
			n := 0
			for b.Loop() {
				k := n % len(batches)
				if err := sampler.Sample(context.Background(), batches[k], g, &batch); err != nil {
					b.Fatal(err)
				}
				block := batch.Blocks[0]
				inputs += float64(len(block.Src))
				for i := range block.Dst {
					var row [width]float64
					for e, c := range block.Matrix.Row(i) {
						v := float64(block.Matrix.RowValues(i)[e])
						for f := range width {
							row[f] += v * h[int(block.Src[c])*width+f]
						}
					}
					for f := range width {
						error2 += math.Pow(row[f]-exact[k][i*width+f], 2)
					}
				}
				n++
			}
			b.ReportMetric(error2/norm2/float64(n), "error²")
			b.ReportMetric(inputs/float64(n), "inputs")
		})
	}
	for _, flat := range []bool{false, true} {
		for _, e := range [][2]string{
			{"wrs", "naive"}, {"wrs", "debiased"}, {"wrs", "rank"}, {"wrs", "sum-and-sample"},
			{"replacement", "naive"}, {"replacement", "horvitz-thompson"}, {"poisson", "horvitz-thompson"}, {"systematic", "horvitz-thompson"},
		} {
			for _, size := range []int{512, 2048} {
				parts := partNames{Flat: flat, Draw: e[0], Weight: e[1]}
				measure(fmt.Sprintf("%s/s=%d", partsName(parts), size), fromParts(b, p, parts, size))
			}
		}
	}
	measure("labor/k=2", &samplers.Labor{Laplacian: p, Sizes: []int{2}})
	for _, k := range []int{2, 5} {
		for _, c := range nodeWise(k) {
			if !strings.Contains(c.name, "two layers") {
				measure(fmt.Sprintf("neighbor %s/k=%d", c.name, k), c.sampler(p))
			}
		}
	}
}
