package samplers

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/reference"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// newPopulation returns the population of weights, with an alias table if
// global.
func newPopulation(t interface{ Fatal(...any) }, weights []float64, global bool) *Population {
	p := &Population{Weights: weights}
	if err := p.sum(); err != nil {
		t.Fatal(err)
	}
	if global {
		p.table = newAliasTable(weights, p.Total)
	}
	return p
}

// TestWithoutReplacementLaw compares the ordered samples drawn with the exact
// probabilities of the reference's draw by Pearson's χ², at level 1e-4 per case: by keys, by an alias
// table, and by inversion.
func TestWithoutReplacementLaw(t *testing.T) {
	weights := []float64{0.5, 3, 1, 0, 2.5, 0.2}
	const draws = 60000
	for _, way := range []struct {
		name   string
		global bool
		draw   WithoutReplacement
	}{{"keys", false, WithoutReplacement{Keys: true}}, {"table", true, WithoutReplacement{}}, {"inversion", false, WithoutReplacement{}}} {
		population := newPopulation(t, weights, way.global)
		for s := 1; s <= population.Positive; s++ {
			rng := rand.New(NewSource(7, uint64(s), 0))
			counts := map[[6]int32]int{}
			var sample Sample
			for range draws {
				way.draw.Draw(rng, population, s, &sample)
				key := [6]int32{-1, -1, -1, -1, -1, -1}
				copy(key[:], sample.Index)
				counts[key]++
			}
			chi2, cells, total := 0.0, 0, 0.0
			rareObserved, rareExpected := 0.0, 0.0
			eachOrder(len(weights), s, func(order []int32) {
				p := reference.OrderProbability(weights, order)
				total += p
				key := [6]int32{-1, -1, -1, -1, -1, -1}
				copy(key[:], order)
				observed := float64(counts[key])
				if p == 0 && observed > 0 {
					t.Fatalf("drew %v, which has probability 0", order)
				}
				if expected := p * draws; expected >= 5 {
					chi2 += (observed - expected) * (observed - expected) / expected
					cells++
				} else {
					rareObserved, rareExpected = rareObserved+observed, rareExpected+expected
				}
			})
			if math.Abs(total-1) > 1e-12 {
				t.Fatalf("probabilities sum to %v", total)
			}
			if rareExpected > 5 {
				chi2 += (rareObserved - rareExpected) * (rareObserved - rareExpected) / rareExpected
				cells++
			}
			limit := distuv.ChiSquared{K: float64(cells - 1)}.Quantile(1 - 1e-4)
			if chi2 > limit {
				t.Errorf("%s, s = %d: χ² = %.1f over %d cells, above %.1f", way.name, s, chi2, cells, limit)
			}
		}
	}
}

// eachOrder calls f with every ordered choice of s of n indices.
func eachOrder(n, s int, f func(order []int32)) {
	order := make([]int32, 0, s)
	var extend func()
	extend = func() {
		if len(order) == s {
			f(order)
			return
		}
		for i := range int32(n) {
			if slices.Contains(order, i) {
				continue
			}
			order = append(order, i)
			extend()
			order = order[:len(order)-1]
		}
	}
	extend()
}

// TestRemaining compares R_j with its definition, for every way to draw and for
// samples of little and of nearly all weight.
func TestRemaining(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e3), 1, 40).Draw(t, "weights")
		s := rapid.IntRange(1, len(weights)).Draw(t, "s")
		population := newPopulation(t, weights, rapid.Bool().Draw(t, "global"))
		var sample Sample
		draw := WithoutReplacement{Keys: rapid.Bool().Draw(t, "keys")}
		draw.Draw(rand.New(NewSource(rapid.Uint64().Draw(t, "seed"), 0, 0)), population, s, &sample)
		if len(sample.Index) != s || sample.Draws != s {
			t.Fatalf("drew %d of %d", len(sample.Index), s)
		}
		drawn := map[int32]bool{}
		for j, i := range sample.Index {
			if drawn[i] {
				t.Fatalf("%d drawn twice", i)
			}
			want := 0.0
			for k, w := range weights {
				if !drawn[int32(k)] {
					want += w
				}
			}
			if math.Abs(sample.Remaining[j]-want) > 1e-12*want {
				t.Fatalf("R_%d = %v, want %v", j+1, sample.Remaining[j], want)
			}
			drawn[i] = true
		}
	})
}

// TestTinyWeights draws all candidates, some with weights below the smallest normal
// number, as a softmax may give: their keys E/w overflow. No candidate may be drawn
// twice, and none of weight 0.
func TestTinyWeights(t *testing.T) {
	steep := make([]float64, 4000) // e^0 … e^-799, about 3700 of them positive
	for i := range steep {
		steep[i] = math.Exp(-float64(i) / 5)
	}
	for name, weights := range map[string][]float64{
		"steep":    append([]float64{0, 0}, steep...),
		"denormal": {0, 5e-324, 0, 1e-323, 5e-324, 0},
		"mixed":    {0, 1, 1e-310, 0, 2, 1e-320, 0},
	} {
		population := newPopulation(t, weights, false)
		m := population.Positive
		for _, draw := range []WithoutReplacement{{}, {Keys: true}} {
			for seed := range uint64(20) {
				var sample Sample
				draw.Draw(rand.New(NewSource(seed, 0, 0)), population, m, &sample)
				drawn := slices.Clone(sample.Index)
				slices.Sort(drawn)
				if drawn = slices.Compact(drawn); len(drawn) != m {
					t.Fatalf("%s, %+v: %d distinct candidates drawn, want all %d", name, draw, len(drawn), m)
				}
				for _, i := range drawn {
					if weights[i] == 0 {
						t.Fatalf("%s, %+v: candidate %d of weight 0 drawn", name, draw, i)
					}
				}
			}
		}
	}
}

// TestDrawByKeys compares the candidates and the threshold with a full sort of the same keys.
func TestDrawByKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, skew := rapid.Uint64().Draw(t, "seed"), rapid.Float64Range(0, 5).Draw(t, "skew")
		rng := rand.New(NewSource(seed, 0, 0))
		weights := make([]float64, rapid.IntRange(1, 2000).Draw(t, "n"))
		for i := range weights {
			if rng.IntN(10) > 0 {
				weights[i] = math.Exp(skew * rng.NormFloat64())
			}
		}
		weights[0] = 1
		population, err := NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		s := rapid.IntRange(1, population.Positive).Draw(t, "s")
		var sample Sample
		drawByKeys(rand.New(NewSource(seed, 1, 0)), population, s, &sample)
		rng = rand.New(NewSource(seed, 1, 0))
		keys, order := make([]float64, len(weights)), make([]int32, len(weights))
		for i, w := range weights {
			keys[i], order[i] = rng.ExpFloat64()/w, int32(i)
		}
		slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
		if !slices.Equal(sample.Index, order[:s]) {
			t.Fatalf("the %d smallest of %d keys are %v, want %v", s, len(weights), sample.Index, order[:s])
		}
		threshold := math.Inf(1)
		if s < len(weights) {
			threshold = keys[order[s]]
		}
		if sample.Threshold != threshold {
			t.Fatalf("threshold %v, want %v", sample.Threshold, threshold)
		}
	})
}

// TestAliasTable adds up, cell by cell, the probability of each index.
func TestAliasTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-9, 1e3)), 1, 50).Draw(t, "weights")
		weights = append(weights, 1)
		population := newPopulation(t, weights, true)
		n := float64(len(weights))
		got := make([]float64, len(weights))
		for i, c := range population.table {
			got[i] += c.keep / n
			got[c.other] += (1 - c.keep) / n
		}
		for i, w := range weights {
			want := w / population.Total
			if math.Abs(got[i]-want) > 1e-12 || (w == 0 && got[i] != 0) {
				t.Fatalf("index %d has probability %v, want %v", i, got[i], want)
			}
		}
	})
}

// TestWithReplacementCounts compares the counts of each candidate with their
// expectation by χ², at level 1e-4.
func TestWithReplacementCounts(t *testing.T) {
	weights := []float64{0.5, 3, 0, 1, 2.5}
	for _, global := range []bool{false, true} {
		population := newPopulation(t, weights, global)
		rng := rand.New(NewSource(11, 0, 0))
		counts := make([]float64, len(weights))
		var sample Sample
		const batches, s = 4000, 7
		for range batches {
			WithReplacement{}.Draw(rng, population, s, &sample)
			draws := 0
			for k, i := range sample.Index {
				counts[i] += float64(sample.Count[k])
				draws += int(sample.Count[k])
			}
			if draws != s || sample.Draws != s {
				t.Fatalf("%d draws, want %d", draws, s)
			}
		}
		chi2 := 0.0
		for i, w := range weights {
			expected := w / population.Total * batches * s
			if w == 0 {
				if counts[i] != 0 {
					t.Errorf("candidate of weight 0 drawn %v times", counts[i])
				}
				continue
			}
			chi2 += (counts[i] - expected) * (counts[i] - expected) / expected
		}
		if limit := (distuv.ChiSquared{K: 3}).Quantile(1 - 1e-4); chi2 > limit {
			t.Errorf("global %v: χ² = %.1f, above %.1f", global, chi2, limit)
		}
	}
}
