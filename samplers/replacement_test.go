package samplers

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Draws in one go take the random numbers of draws one after the other, and have their result, also
// where the number of repeats ends them.
func TestDrawRepeatedly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := make([]float64, rapid.IntRange(1, 40).Draw(t, "candidates"))
		for i := range weights {
			weights[i] = 1
		}
		weights[0] = rapid.SampledFrom([]float64{1, 30, 1e4}).Draw(t, "heavy")
		population, err := NewPopulation(weights)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "table") {
			population.table = newAliasTable(weights, population.Total)
		}
		n, repeats := rapid.IntRange(1, len(weights)).Draw(t, "n"), rapid.IntRange(0, 30).Draw(t, "repeats")
		seed := rapid.Uint64().Draw(t, "seed")
		all, single := rand.New(NewSource(seed, 0, 0)), rand.New(NewSource(seed, 0, 0))
		var got, want Sample
		got.drawRepeatedly(all, population, n, repeats)
		for draws := 0; draws < n || len(want.Index) < n && draws-len(want.Index) < repeats; draws++ {
			i := population.table.draw
			if population.table == nil {
				want.law.build(weights)
				i = want.law.draw
			}
			k := i(single)
			if at := slices.Index(want.Index, k); at >= 0 {
				want.Count[at]++
				continue
			}
			want.Index, want.Weight, want.Count = append(want.Index, k), append(want.Weight, weights[k]), append(want.Count, 1)
		}
		if !slices.Equal(got.Index, want.Index) || !slices.Equal(got.Weight, want.Weight) || !slices.Equal(got.Count, want.Count) || all.Uint64() != single.Uint64() {
			t.Fatalf("%v, %v times; one at a time %v, %v times", got.Index, got.Count, want.Index, want.Count)
		}
	})
}
