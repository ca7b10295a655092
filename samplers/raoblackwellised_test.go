package samplers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestRaoBlackwellisedLarge checks large sizes: equal weights are simple random sampling, where
// β = m/s. A sampler refuses larger ones.
func TestRaoBlackwellisedLarge(t *testing.T) {
	for _, c := range []struct{ m, s int }{{12, 11}, {17, 16}, {2000, 16}, {100000, 10}} {
		weights := make([]float64, c.m)
		for i := range weights {
			weights[i] = 0.3
		}
		population := newPopulation(t, weights, false)
		var sample Sample
		WithoutReplacement{}.Draw(rand.New(NewSource(1, 0, 0)), population, c.s, &sample)
		beta := make([]float64, c.s)
		RaoBlackwellised{}.Weigh(population, &sample, beta)
		want := float64(c.m) / float64(c.s)
		for _, b := range beta {
			if math.Abs(b-want) > 1e-12*want {
				t.Fatalf("%d of %d: β = %v, want %v", c.s, c.m, b, want)
			}
		}
	}
	p := graph.NewLaplacian(randomGraph(40, 80, false, 1))
	for size, refused := range map[int]bool{16: false, 17: true} {
		for _, s := range []Sampler{&LayerWise{Laplacian: p, Sizes: []int{3, size}, Weight: RaoBlackwellised{}}, &Neighbor{Laplacian: p, Sizes: []int{size}, Weight: RaoBlackwellised{}}} {
			if err := Prepare(s); (err != nil) != refused {
				t.Errorf("%T of size %d: error %v", s, size, err)
			}
		}
	}
}

// TestRaoBlackwellisedNever checks that the weight never drawn is exact if it is
// small compared to the last draw.
func TestRaoBlackwellisedNever(t *testing.T) {
	weights := []float64{1e-12, 3e-12, 1}
	population := newPopulation(t, weights, false)
	sample := Sample{
		Draws: 2, Index: []int32{0, 2}, Weight: []float64{1e-12, 1},
		Remaining: []float64{1 + 4e-12, 1 + 3e-12},
	}
	beta := make([]float64, 2)
	RaoBlackwellised{}.Weigh(population, &sample, beta)
	// P({0, 2}) = 1/W·1e-12/4e-12 + 1e-12/W·1/(1+3e-12), P({2} from {1, 2}) =
	// 1/(1+3e-12), P({0} from {0, 1}) = 1/4.
	total := 1 + 4e-12
	set := 1/total/4 + 1e-12/total/(1+3e-12)
	for i, want := range []float64{1 / (1 + 3e-12) / set, 1. / 4 / set} {
		if math.Abs(beta[i]-want) > 1e-13*want {
			t.Errorf("β_%d = %v, want %v", i, beta[i], want)
		}
	}
}

func BenchmarkRaoBlackwellised(b *testing.B) {
	rng := rand.New(NewSource(1, 0, 0))
	weights := make([]float64, 7000)
	for i := range weights {
		weights[i] = rng.ExpFloat64()
	}
	population := newPopulation(b, weights, false)
	for _, s := range []int{8, 16} {
		b.Run(fmt.Sprintf("s=%d", s), func(b *testing.B) {
			var sample Sample
			WithoutReplacement{}.Draw(rng, population, s, &sample)
			beta := make([]float64, s)
			b.ReportAllocs()
			for b.Loop() {
				RaoBlackwellised{}.Weigh(population, &sample, beta)
			}
		})
	}
}
