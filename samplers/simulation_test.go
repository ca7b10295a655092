package samplers_test

import (
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// simulated is a sampler, and whether it claims to be unbiased.
type simulated struct {
	name     string
	unbiased bool
	sampler  func(p *graph.Laplacian) samplers.Sampler
}

// simulations returns the named methods of one layer, the draws and weights with
// LADIES, some with FastGCN, and the options.
func simulations(t *testing.T) []simulated {
	var all []simulated
	for name, unbiased := range map[string]bool{
		"ladies": false, "ladies-flat": false, "fastgcn": false, "fastgcn-flat": false,
		"ladies-debiased": true, "ladies-flat-debiased": true,
		"fastgcn-debiased": true, "fastgcn-flat-debiased": true,
		"poisson-ladies": true, "labor": true,
	} {
		size := 64
		switch name {
		case "fastgcn", "fastgcn-flat":
			size = 1500 // with fewer nodes the bias may not show
		case "fastgcn-debiased", "fastgcn-flat-debiased":
			size = 400
		case "labor":
			size = 3
		}
		all = append(all, simulated{name, unbiased, func(p *graph.Laplacian) samplers.Sampler {
			s, err := samplers.ByName(name, samplers.Config{Laplacian: p, Layers: 1, Sizes: []int{size}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}})
	}
	for _, c := range []struct {
		parts    partNames
		size     int
		unbiased bool
	}{
		{partNames{Weight: "rank"}, 64, true},
		{partNames{Weight: "sum-and-sample"}, 90, true},
		{partNames{Weight: "rao-blackwell"}, 8, true},
		{partNames{Weight: "rao-blackwell"}, 10, true},
		{partNames{Draw: "replacement"}, 64, true},
		{partNames{Draw: "replacement", Weight: "horvitz-thompson"}, 64, true},
		{partNames{Draw: "poisson"}, 64, true},
		{partNames{Draw: "poisson"}, 1, true}, // empty samples are frequent
		{partNames{Draw: "systematic"}, 64, true},
		{partNames{Draw: "systematic", Flat: true}, 64, true},
		{partNames{Importance: "uniform"}, 64, true},
		{partNames{Importance: "fastgcn", Weight: "rank"}, 400, true},
		{partNames{Importance: "fastgcn", Draw: "systematic"}, 400, true},
		{partNames{Importance: "fastgcn", Flat: true, Neighborhood: true}, 64, true},
		{partNames{Flat: true, IncludeRows: true}, 64, false},
		{partNames{Flat: true, NormalizeRows: true}, 32, false},
		{partNames{Weight: "naive", IncludeRows: true, NormalizeRows: true}, 64, false},
	} {
		all = append(all, simulated{partsName(c.parts), c.unbiased, func(p *graph.Laplacian) samplers.Sampler {
			return fromParts(t, p, c.parts, c.size)
		}})
	}
	return append(all,
		simulated{"labor", true, func(p *graph.Laplacian) samplers.Sampler {
			return &samplers.Labor{Laplacian: p, Sizes: []int{3}}
		}},
		simulated{"ladies-flat-debiased, two layers", true, func(p *graph.Laplacian) samplers.Sampler {
			return fromParts(t, p, partNames{Flat: true}, 32, 64)
		}},
		simulated{"ladies-flat-debiased, self kept, two layers", true, func(p *graph.Laplacian) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{32, 64}, KeepSelf: true}
		}},
		simulated{"fastgcn-debiased, self kept", true, func(p *graph.Laplacian) samplers.Sampler {
			return &samplers.LayerWise{Laplacian: p, Sizes: []int{400}, Importance: samplers.FastGCN{}, KeepSelf: true}
		}},
		simulated{"labor, two layers", true, func(p *graph.Laplacian) samplers.Sampler {
			return &samplers.Labor{Laplacian: p, Sizes: []int{2, 2}}
		}},
	)
}

// TestUnbiasedBySimulation draws 20,000 batches on a graph of 2,000 nodes and
// compares the mean of P̃H with PH. An unbiased sampler must be within 4 standard
// errors, with Bonferroni's correction, and a biased one well outside.
func TestUnbiasedBySimulation(t *testing.T) {
	if testing.Short() || samplers.RaceDetector {
		t.Skip("20,000 batches a sampler; the contract runs concurrently under the race detector")
	}
	checkSimulations(t, graph.NewLaplacian(samplertest.RandomGraph(t, 2000, 8000, false, 4)), 20000, true)
}

// The unbiased samplers are unbiased on a directed graph, weighted or not, too.
func TestUnbiasedOnDirected(t *testing.T) {
	if testing.Short() || samplers.RaceDetector {
		t.Skip("4,000 batches a sampler; the contract runs concurrently under the race detector")
	}
	for _, weighted := range []bool{false, true} {
		directed := samplertest.Directed(samplertest.RandomGraph(t, 2000, 8000, weighted, 4))
		checkSimulations(t, graph.NewDirectedLaplacian(directed), 4000, false)
	}
}

// checkSimulations runs the samplers, or only the unbiased ones, on a graph of 2,000 nodes.
func checkSimulations(t *testing.T, p *graph.Laplacian, batches int, biased bool) {
	const nodes, width = 2000, 2
	rng := rand.New(samplers.NewSource(9, 0, 0))
	h := make([]float64, nodes*width)
	for i := range h {
		h[i] = 1 + rng.NormFloat64()
	}
	var seeds []int32
	for _, i := range rng.Perm(nodes)[:16] {
		seeds = append(seeds, int32(i))
	}
	for _, c := range simulations(t) {
		if !c.unbiased && !biased {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := samplertest.Simulate(c.sampler(p), p, seeds, h, width, batches, 21)
			if err != nil {
				t.Fatal(err)
			}
			worst, bound := r.Worst(), r.Bound()
			t.Logf("worst entry %.1f standard errors off, bound %.2f", worst, bound)
			if c.unbiased && !(worst <= bound) {
				t.Errorf("the mean of P̃H is %.1f standard errors from PH, want at most %.2f", worst, bound)
			}
			if !c.unbiased && worst < 2*bound {
				t.Errorf("claimed to be biased, but the mean of P̃H is within %.1f standard errors of PH", worst)
			}
		})
	}
}
