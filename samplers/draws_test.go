package samplers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestDrawLaws compares the sets that Poisson and Systematic draw with their exact
// probabilities by Pearson's χ², at level 1e-4 per case.
func TestDrawLaws(t *testing.T) {
	const draws = 40000
	for _, draw := range []samplers.Draw{samplers.Poisson{}, samplers.Systematic{}} {
		for _, weights := range [][]float64{{0.5, 3, 1, 0, 2.5, 0.2}, {1, 1, 1, 1}, {10, 1, 1, 2}} {
			population, err := samplers.NewPopulation(weights)
			if err != nil {
				t.Fatal(err)
			}
			for s := 1; s <= population.Positive; s++ {
				law := map[string]float64{}
				err := enumerateDraw(draw, weights, s, func(p float64, sample *samplers.Sample) {
					law[setName(sample.Index)] += p
				})
				if err != nil {
					t.Fatal(err)
				}
				counts := map[string]float64{}
				rng := rand.New(samplers.NewSource(17, uint64(s), 0))
				var sample samplers.Sample
				for range draws {
					draw.Draw(rng, population, s, &sample)
					counts[setName(sample.Index)]++
				}
				chi2, cells, total := 0.0, 0, 0.0
				for set, p := range law {
					chi2 += (counts[set] - p*draws) * (counts[set] - p*draws) / (p * draws)
					cells++
					total += p
				}
				if math.Abs(total-1) > 1e-12 {
					t.Fatalf("%T %v: probabilities sum to %v", draw, weights, total)
				}
				for set := range counts {
					if law[set] == 0 {
						t.Errorf("%T %v, s = %d: drew %s, which has probability 0", draw, weights, s, set)
					}
				}
				if cells == 1 {
					continue
				}
				if p := 1 - (distuv.ChiSquared{K: float64(cells - 1)}).CDF(chi2); p < 1e-4 {
					t.Errorf("%T %v, s = %d: χ² = %.1f on %d cells, p = %.2g", draw, weights, s, chi2, cells, p)
				}
			}
		}
	}
}

func setName(index []int32) string {
	ids := slices.Clone(index)
	slices.Sort(ids)
	return fmt.Sprint(ids)
}

// TestInclusion compares the probabilities that draws report with the plain
// solution, for weights of all sizes, with ties and zeros.
func TestInclusion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		spread := rapid.SampledFrom([]float64{0, 0.5, 3, 30}).Draw(t, "spread")
		rng := rand.New(samplers.NewSource(rapid.Uint64().Draw(t, "seed"), 0, 0))
		weights := make([]float64, n)
		for i := range weights {
			if i == 0 || rng.IntN(10) > 0 {
				weights[i] = math.Exp(spread * rng.NormFloat64())
			}
		}
		population, err := samplers.NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		s := rapid.IntRange(1, population.Positive).Draw(t, "s")
		want := inclusionOf(weights, s)
		sum, none := 0.0, 1.0
		for _, p := range want {
			sum += p
			none *= 1 - p
		}
		if math.Abs(sum-float64(s)) > 1e-12*float64(s) {
			t.Fatalf("Σπ = %v, want %d", sum, s)
		}
		check := func(name string, draw samplers.Draw, some float64) {
			var sample samplers.Sample
			draw.Draw(rng, population, s, &sample)
			if len(sample.Index) != len(sample.Weight) || len(sample.Index) != len(sample.Inclusion) || len(sample.Index) == 0 {
				t.Fatalf("%s: %d drawn, %d weights, %d probabilities", name, len(sample.Index), len(sample.Weight), len(sample.Inclusion))
			}
			seen := map[int32]bool{}
			for j, i := range sample.Index {
				if seen[i] || weights[i] == 0 || sample.Weight[j] != weights[i] {
					t.Fatalf("%s: drew %d of weight %v as %v, before: %v", name, i, weights[i], sample.Weight[j], seen[i])
				}
				seen[i] = true
				if pi := want[i] / some; math.Abs(sample.Inclusion[j]-pi) > 1e-11*pi {
					t.Fatalf("%s: π_%d = %v, want %v", name, i, sample.Inclusion[j], pi)
				}
			}
			if _, fixed := draw.(samplers.Systematic); fixed && len(sample.Index) != s {
				t.Fatalf("%s: %d drawn, want %d", name, len(sample.Index), s)
			}
			for i, p := range want {
				if p == 1 && !seen[int32(i)] {
					t.Fatalf("%s: %d has probability 1 and was not drawn", name, i)
				}
			}
		}
		check("Poisson", samplers.Poisson{}, 1-none)
		check("Systematic", samplers.Systematic{}, 1)
	})
}

// TestDrawsReuseMemory checks that draws allocate nothing after warm-up.
func TestDrawsReuseMemory(t *testing.T) {
	rng := rand.New(samplers.NewSource(1, 0, 0))
	weights := make([]float64, 5000)
	for i := range weights {
		weights[i] = rng.ExpFloat64()
	}
	population, err := samplers.NewPopulation(weights)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range estimators {
		var sample samplers.Sample
		beta := make([]float64, 0, 1000)
		draw := func() {
			e.draw.Draw(rng, population, sizeOf(e.weight, 520), &sample)
			e.weight.Weigh(population, &sample, beta[:len(sample.Index)])
		}
		for range 20 {
			draw()
		}
		if got := testing.AllocsPerRun(50, draw); got > 0 {
			t.Errorf("%s: %v allocations", e.name, got)
		}
	}
}

// sizeOf returns the size, or the largest one that the weight takes in reasonable time.
func sizeOf(weight samplers.Weight, size int) int {
	if weight == (samplers.RaoBlackwellised{}) {
		return min(size, 10)
	}
	return size
}

// BenchmarkDraw picks and weighs 512 of 7,000 candidates, as a layer of ogbn-arxiv
// does.
func BenchmarkDraw(b *testing.B) {
	rng := rand.New(samplers.NewSource(1, 0, 0))
	weights := make([]float64, 7000)
	for i := range weights {
		weights[i] = math.Exp(rng.NormFloat64())
	}
	population, err := samplers.NewPopulation(weights)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range estimators {
		b.Run(e.name, func(b *testing.B) {
			var sample samplers.Sample
			beta := make([]float64, 7000)
			b.ReportAllocs()
			for b.Loop() {
				e.draw.Draw(rng, population, sizeOf(e.weight, 512), &sample)
				e.weight.Weigh(population, &sample, beta[:len(sample.Index)])
			}
		})
	}
}
