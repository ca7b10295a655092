package samplers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/reference"
	"github.com/gcn-layerwise/gcn/samplers"
	"pgregory.net/rapid"
)

// estimators are all pairs of draw and weight that go together.
var estimators = []struct {
	name     string
	draw     samplers.Draw
	weight   samplers.Weight
	unbiased bool
}{
	{"wrs debiased", samplers.WithoutReplacement{}, samplers.Debiased{}, true},
	{"wrs debiased, n = 20", samplers.WithoutReplacement{}, samplers.Debiased{Population: 20}, true},
	{"wrs rank", samplers.WithoutReplacement{}, samplers.Rank{}, true},
	{"wrs sum-and-sample", samplers.WithoutReplacement{}, samplers.SumAndSample{}, true},
	{"wrs rao-blackwell", samplers.WithoutReplacement{}, samplers.RaoBlackwellised{}, true},
	{"replacement naive", samplers.WithReplacement{}, samplers.Naive{}, true},
	{"replacement horvitz-thompson", samplers.WithReplacement{}, samplers.HorvitzThompson{}, true},
	{"poisson horvitz-thompson", samplers.Poisson{}, samplers.HorvitzThompson{}, true},
	{"systematic horvitz-thompson", samplers.Systematic{}, samplers.HorvitzThompson{}, true},
	{"wrs naive", samplers.WithoutReplacement{}, samplers.Naive{}, false},
	{"poisson naive", samplers.Poisson{}, samplers.Naive{}, false},
	{"systematic naive", samplers.Systematic{}, samplers.Naive{}, false},
}

// tinyPopulations are weights of up to six candidates: even, uneven, with ties
// and zeros, over many orders of magnitude, and random.
func tinyPopulations() [][]float64 {
	all := [][]float64{
		{1}, {0, 2}, {1, 1, 1, 1}, {5, 1}, {0.5, 3, 1, 0, 2.5, 0.2},
		{100, 1, 1, 1, 1, 1}, {1e-3, 1, 1e3, 10}, {7, 7, 1, 1, 0, 0},
	}
	rng := rand.New(samplers.NewSource(11, 0, 0))
	for n := 2; n <= 6; n++ {
		for range 3 {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = math.Exp(1.5 * rng.NormFloat64())
			}
			all = append(all, weights)
		}
	}
	return all
}

func positive(weights []float64) (count int) {
	for _, w := range weights {
		if w > 0 {
			count++
		}
	}
	return count
}

// TestUnbiasedExactly checks, over all outcomes of each draw and for every
// candidate and every s, that E[β_i] = 1 for the weights that claim it, and not for
// the others.
func TestUnbiasedExactly(t *testing.T) {
	for _, e := range estimators {
		t.Run(e.name, func(t *testing.T) {
			worst := 0.0
			for _, weights := range tinyPopulations() {
				for s := 1; s <= positive(weights); s++ {
					mean, _, err := momentsOf(e.draw, e.weight, weights, s)
					if err != nil {
						t.Fatal(err)
					}
					for i, w := range weights {
						want := 1.0
						if w == 0 {
							want = 0
						}
						bias := math.Abs(mean[i] - want)
						worst = max(worst, bias)
						if e.unbiased && !(bias <= 1e-12) {
							t.Errorf("weights %v, s = %d: E[β_%d] = %v", weights, s, i, mean[i])
						}
					}
				}
			}
			if !e.unbiased && worst < 0.1 {
				t.Errorf("the largest bias is %v", worst)
			}
		})
	}
}

// TestNaiveBias pins E[β] of the weights 1/(s p_i) that FastGCN and LADIES use.
// Without replacement it is π_i/(s p_i), with π_i the probability that i is drawn:
// by hand, for weights 3, 2, 1 and s = 2,
//
//	π_1 = 3/6 + 2/6·3/4 + 1/6·3/5 = 17/20
//	π_2 = 2/6 + 3/6·2/3 + 1/6·2/5 = 11/15
//	π_3 = 2 − π_1 − π_2 = 5/12
//
// For Poisson and systematic draws the weights 3, 2, 1 give π = (1, 2/3, 1/3), with
// no cap at 1 and no empty samples, and E[β] = 1. The weights 4, 1, 1 meet the cap:
// π = (1, 1/2, 1/2), p = (2/3, 1/6, 1/6).
func TestNaiveBias(t *testing.T) {
	for _, c := range []struct {
		draw    samplers.Draw
		weights []float64
		want    []float64
	}{
		{samplers.WithoutReplacement{}, []float64{3, 2, 1}, []float64{17. / 20, 11. / 10, 5. / 4}},
		{samplers.WithReplacement{}, []float64{3, 2, 1}, []float64{1, 1, 1}},
		{samplers.Poisson{}, []float64{3, 2, 1}, []float64{1, 1, 1}},
		{samplers.Systematic{}, []float64{4, 1, 1}, []float64{3. / 4, 3. / 2, 3. / 2}},
		{samplers.Poisson{}, []float64{4, 1, 1}, []float64{3. / 4, 3. / 2, 3. / 2}},
	} {
		mean, _, err := momentsOf(c.draw, samplers.Naive{}, c.weights, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range mean {
			if math.Abs(mean[i]-c.want[i]) > 1e-12 {
				t.Errorf("%T, weights %v: E[β_%d] = %v, want %v", c.draw, c.weights, i, mean[i], c.want[i])
			}
		}
	}
}

// TestExactAtExhaustion checks that every estimator without repeats, except for
// Naive, is exact if all candidates are drawn.
func TestExactAtExhaustion(t *testing.T) {
	for _, e := range estimators {
		_, repeats := e.draw.(samplers.WithReplacement)
		if repeats || !e.unbiased || e.name == "wrs debiased, n = 20" {
			continue
		}
		for _, weights := range tinyPopulations() {
			population, err := samplers.NewPopulation(weights)
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(samplers.NewSource(1, 2, 3))
			var sample samplers.Sample
			e.draw.Draw(rng, population, population.Positive, &sample)
			beta := make([]float64, len(sample.Index))
			e.weight.Weigh(population, &sample, beta)
			if len(beta) != population.Positive {
				t.Fatalf("%s, weights %v: %d drawn", e.name, weights, len(beta))
			}
			for _, b := range beta {
				if b != 1 {
					t.Errorf("%s, weights %v: β = %v", e.name, weights, beta)
					break
				}
			}
		}
	}
}

// TestDebiasedClosedForm compares the closed form with the algorithm as printed, to
// 1e-12 of each weight, for s up to 200 of up to 400 candidates, and n at least the
// number of candidates.
func TestDebiasedClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 400).Draw(t, "candidates")
		s := rapid.IntRange(1, min(m, 200)).Draw(t, "s")
		extra := rapid.SampledFrom([]int{0, 0, 1, 1000, 100000}).Draw(t, "extra")
		rng := rand.New(samplers.NewSource(rapid.Uint64().Draw(t, "seed"), 0, 0))
		weights := make([]float64, m)
		for i := range weights {
			weights[i] = 0.1 + rng.ExpFloat64()
		}
		population, err := samplers.NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		var sample samplers.Sample
		samplers.WithoutReplacement{}.Draw(rng, population, s, &sample)
		beta := make([]float64, s)
		samplers.Debiased{Population: m + extra}.Weigh(population, &sample, beta)
		// The loop's 1 − p_S cancels as p_S nears 1; the closed form's R does
		// not. The tolerance follows the loop.
		left := sample.Remaining[s-1] / population.Total
		tolerance := max(1e-12, 2e-15/left)
		p := make([]float64, m)
		for i, w := range weights {
			p[i] = w / population.Total
		}
		for j, want := range reference.Debias(p, sample.Index, m+extra) {
			if math.Abs(beta[j]-want) > tolerance*want {
				t.Fatalf("m = %d, s = %d, n = %d: β_%d = %v, want %v", m, s, m+extra, j+1, beta[j], want)
			}
		}
	})
}

// TestRaoBlackwell checks that β_i is the expectation, given the set drawn, of the
// weights Debiased and SumAndSample over the order of the draws, and of Rank over
// the threshold.
func TestRaoBlackwell(t *testing.T) {
	for _, weights := range tinyPopulations() {
		population, err := samplers.NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		for s := 1; s <= population.Positive; s++ {
			type sums struct {
				probability float64
				beta        map[int32]float64
			}
			average := func(weight samplers.Weight, enumerate func(func(float64, *samplers.Sample))) map[string]*sums {
				sets := map[string]*sums{}
				enumerate(func(p float64, sample *samplers.Sample) {
					ids := slices.Clone(sample.Index)
					slices.Sort(ids)
					key := fmt.Sprint(ids)
					if sets[key] == nil {
						sets[key] = &sums{beta: map[int32]float64{}}
					}
					set := sets[key]
					set.probability += p
					beta := make([]float64, s)
					weight.Weigh(population, sample, beta)
					for j, i := range sample.Index {
						set.beta[i] += p * beta[j]
					}
				})
				return sets
			}
			orders := func(visit func(float64, *samplers.Sample)) {
				if err := enumerateDraw(samplers.WithoutReplacement{}, weights, s, visit); err != nil {
					t.Fatal(err)
				}
			}
			want := average(samplers.RaoBlackwellised{}, orders)
			for name, got := range map[string]map[string]*sums{
				"debiased":       average(samplers.Debiased{}, orders),
				"sum-and-sample": average(samplers.SumAndSample{}, orders),
				"rank": average(samplers.Rank{}, func(visit func(float64, *samplers.Sample)) {
					enumerateKeys(weights, s, visit)
				}),
			} {
				for set, g := range got {
					w := want[set]
					if math.Abs(g.probability-w.probability) > 1e-12 {
						t.Fatalf("weights %v, set %s: probability %v, want %v", weights, set, g.probability, w.probability)
					}
					for i := range g.beta {
						got, want := g.beta[i]/g.probability, w.beta[i]/w.probability
						if math.Abs(got-want) > 1e-11*want {
							t.Errorf("weights %v, set %s: mean of %s weight of %d is %v, want %v", weights, set, name, i, got, want)
						}
					}
				}
			}
		}
	}
}

// TestVariances checks claims about second moments: of the weights for weighted
// random sampling, RaoBlackwellised has the least variance; the weights Rank, and
// HorvitzThompson for Poisson, are uncorrelated.
func TestVariances(t *testing.T) {
	for _, weights := range tinyPopulations() {
		m := positive(weights)
		for s := 2; s < m; s++ {
			moments := map[string][][]float64{}
			for _, e := range estimators {
				_, product, err := momentsOf(e.draw, e.weight, weights, s)
				if err != nil {
					t.Fatal(err)
				}
				moments[e.name] = product
			}
			// The claim is about the variance of ΣβX for every X: test one X.
			x := []float64{1, -2, 0.5, 3, 1, -1}
			second := func(name string) (sum float64) {
				for i := range weights {
					for j := range weights {
						sum += x[i] * x[j] * moments[name][i][j]
					}
				}
				return sum
			}
			least := second("wrs rao-blackwell")
			for _, name := range []string{"wrs debiased", "wrs debiased, n = 20", "wrs sum-and-sample", "wrs rank"} {
				if second(name) < least*(1-1e-9) {
					t.Errorf("weights %v, s = %d: second moment of %s is %v, of wrs rao-blackwell %v", weights, s, name, second(name), least)
				}
			}
			for i := range weights {
				for j := range i {
					if weights[i] == 0 || weights[j] == 0 {
						continue
					}
					if got := moments["wrs rank"][i][j]; math.Abs(got-1) > 1e-11 {
						t.Errorf("weights %v, s = %d: rank weights have E[β_%d β_%d] = %v, want 1", weights, s, i, j, got)
					}
				}
			}
		}
	}
}

// TestCheckPairs checks which weights accept which draws.
func TestCheckPairs(t *testing.T) {
	accepted := map[string]bool{}
	for _, e := range estimators {
		accepted[fmt.Sprintf("%T %T", e.draw, e.weight)] = true
	}
	count := 0
	for drawName, draw := range samplers.Draws() {
		for weightName, weight := range samplers.Weights() {
			err := weight.Check(draw)
			if want := accepted[fmt.Sprintf("%T %T", draw, weight)]; want != (err == nil) {
				t.Errorf("%s after %s: error %v", weightName, drawName, err)
			}
			if err == nil {
				count++
			}
		}
	}
	if count != len(estimators)-1 { // two estimators differ only by an option
		t.Errorf("%d pairs go together, want %d", count, len(estimators)-1)
	}
}
