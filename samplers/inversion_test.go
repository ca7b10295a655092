package samplers

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// TestInversionSearch compares the guide table with a linear search for the same
// random number.
func TestInversionSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(NewSource(rapid.Uint64().Draw(t, "seed"), 0, 0))
		weights := make([]float64, rapid.IntRange(1, 300).Draw(t, "n"))
		skew := rapid.Float64Range(0, 8).Draw(t, "skew")
		size := rapid.SampledFrom([]float64{1, 1e-310, 1e-200, 1e300}).Draw(t, "size")
		for i := range weights {
			if rng.IntN(4) > 0 {
				weights[i] = math.Exp(-skew*rng.Float64()) * size
			}
		}
		weights[rng.IntN(len(weights))] = size
		var law inversion
		law.build(weights)
		for k := range uint64(50) {
			got := law.draw(rand.New(NewSource(k, 1, 0)))
			x := rand.New(NewSource(k, 1, 0)).Float64() * law.sums[len(law.sums)-1]
			if x >= law.sums[len(law.sums)-1] {
				continue
			}
			want, sum := -1, 0.0
			for sum <= x {
				want++
				sum += weights[want]
			}
			if int(got) != want || weights[got] == 0 {
				t.Fatalf("%v of a total of %v falls to %d, want %d", x, law.sums[len(law.sums)-1], got, want)
			}
		}
	})
}

// TestInversionTop forces the largest random number: its product with the total may
// be rounded up to the total.
func TestInversionTop(t *testing.T) {
	weights := []float64{1, 2, 0.5, 0}
	var law inversion
	law.build(weights)
	if i := law.draw(rand.New(new(top))); i != 2 {
		t.Errorf("drew %d, want 2", i)
	}
}

// top is a source that returns the largest number.
type top struct{}

func (*top) Uint64() uint64 { return math.MaxUint64 }

// TestInversionLaw compares counts with their expectation by χ², at level 1e-4.
func TestInversionLaw(t *testing.T) {
	rng := rand.New(NewSource(13, 0, 0))
	weights := make([]float64, 1500)
	for i := range weights {
		weights[i] = math.Exp(1.5 * rng.NormFloat64())
	}
	var law inversion
	law.build(weights)
	const draws = 3_000_000
	counts := make([]float64, len(weights))
	for range draws {
		counts[law.draw(rng)]++
	}
	chi2 := 0.0
	for i, w := range weights {
		expected := w / law.sums[len(law.sums)-1] * draws
		chi2 += (counts[i] - expected) * (counts[i] - expected) / expected
	}
	if limit := (distuv.ChiSquared{K: float64(len(weights) - 1)}).Quantile(1 - 1e-4); chi2 > limit {
		t.Errorf("χ² = %.1f, above %.1f", chi2, limit)
	}
}
