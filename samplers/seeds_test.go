package samplers

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSeedLawUnbiased enumerates all ordered samples of small laws. The expectation of the
// weighted loss must be the mean loss, for any losses and any size.
func TestSeedLawUnbiased(t *testing.T) {
	losses := []float64{3, -1, 0.25, 7, 100}
	for _, weights := range [][]float64{{1, 1, 1, 1, 1}, {5, 1, 0.2, 3, 1e-3}, {1, 0, 2, 0, 3}, {7, 0, 0, 0, 0}} {
		law, err := NewSeedLaw(weights)
		if err != nil {
			t.Fatal(err)
		}
		var mean float64
		for k, w := range weights {
			if w > 0 {
				mean += losses[k] / float64(law.population.Positive)
			}
		}
		for size := 1; size <= law.population.Positive; size++ {
			var d SeedDraw
			var total, expected float64
			var visit func(probability, left float64)
			visit = func(probability, left float64) {
				s := &d.sample
				if len(s.Index) == size {
					total += probability
					law.weigh(&d)
					for k, i := range d.Index {
						expected += probability * d.sample.factor[k] / float64(law.population.Positive) * losses[i]
						if got := float64(d.Weights[k]) * float64(law.population.Positive); math.Abs(got-d.sample.factor[k]) > 1e-6*d.sample.factor[k] {
							t.Fatalf("weight %v of β %v", got, d.sample.factor[k])
						}
					}
					return
				}
				for i, w := range weights {
					if w == 0 || slices.Contains(s.Index, int32(i)) {
						continue
					}
					n := len(s.Index)
					s.Index, s.Weight, s.Remaining = append(s.Index, int32(i)), append(s.Weight, w), append(s.Remaining, left)
					visit(probability*w/left, left-w)
					s.Index, s.Weight, s.Remaining = s.Index[:n], s.Weight[:n], s.Remaining[:n]
				}
			}
			visit(1, law.population.Total)
			if math.Abs(total-1) > 1e-9 || math.Abs(expected-mean) > 1e-9*(1+math.Abs(mean)) {
				t.Errorf("weights %v, size %d: expectation %v, want %v (probability %v)", weights, size, expected, mean, total)
			}
		}
	}
}

// TestSeedLawDraw draws many batches: the mean of the weighted losses lies within four
// standard errors of the mean loss, and uniform batches have a higher variance
// where the weights follow the losses.
func TestSeedLawDraw(t *testing.T) {
	const n, size, batches = 3000, 100, 4000
	random := rand.New(rand.NewPCG(3, 4))
	losses, uniform := make([]float64, n), make([]float64, n)
	var mean float64
	for k := range losses {
		losses[k] = math.Exp(2 * random.NormFloat64())
		uniform[k] = 1
		mean += losses[k] / n
	}
	variance := func(weights []float64) float64 {
		law, err := NewSeedLaw(weights)
		if err != nil {
			t.Fatal(err)
		}
		var d SeedDraw
		var sum, squares float64
		for range batches {
			law.Draw(random, size, &d)
			estimate := 0.0
			for k, i := range d.Index {
				estimate += float64(d.Weights[k]) * losses[i]
			}
			sum += estimate
			squares += estimate * estimate
		}
		v := squares/batches - sum/batches*sum/batches
		if z := (sum/batches - mean) / math.Sqrt(v/batches); math.Abs(z) > 4 {
			t.Errorf("the mean of the batches is %v standard errors away", z)
		}
		return v
	}
	mixed := make([]float64, n)
	for k, l := range losses {
		mixed[k] = 0.2 + 0.8*l/mean
	}
	if plain, important := variance(uniform), variance(mixed); important > plain/5 {
		t.Errorf("variance %v by importance, %v uniform", important, plain)
	}

	// Equal weights give the mean over the batch, and a batch of all nodes the exact mean.
	law, err := NewSeedLaw(uniform)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{-1, 0, 1, 100, n, 2 * n} {
		var d SeedDraw
		law.Draw(random, size, &d)
		if want := min(max(size, 0), n); len(d.Index) != want || len(d.Weights) != want {
			t.Fatalf("size %d: %d nodes and %d weights, want %d", size, len(d.Index), len(d.Weights), want)
		}
		for _, w := range d.Weights {
			if want := 1 / float64(min(size, n)); math.Abs(float64(w)-want) > 1e-6*want {
				t.Fatalf("a node has weight %v, want %v", w, want)
			}
		}
	}
}

func TestSeedLawErrors(t *testing.T) {
	for words, weights := range map[string][]float64{
		"candidate 1 has weight -1":   {1, -1},
		"candidate 0 has weight NaN":  {math.NaN()},
		"sum to +Inf":                 {1, math.Inf(1)},
		"sum to 0":                    {0, 0},
		"the weights of 0 candidates": nil,
	} {
		if _, err := NewSeedLaw(weights); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v: error %v, want %s", weights, err, words)
		}
	}
}
