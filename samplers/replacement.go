package samplers

import (
	"math/rand/v2"
	"sort"
)

// WithReplacement draws s times independently, each candidate with probability
// proportional to its weight. The sample holds each candidate once, with the
// number of its draws. Cost: O(m + s log m), or O(s) where one law serves many
// batches.
type WithReplacement struct{}

// Draw implements Draw: at most s distinct candidates, s draws.
func (WithReplacement) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset()
	sample.Draws = s
	set := &sample.scratch.set
	set.reset(s)
	var sums []float64
	if population.table == nil {
		sums = cumulate(population.Weights, &sample.scratch)
	}
	for range s {
		var i int32
		if population.table != nil {
			i = population.table.draw(rng)
		} else {
			i = drawCumulative(rng, sums)
		}
		if at, isNew := set.add(i); !isNew {
			sample.Count[at]++
			continue
		}
		sample.Index = append(sample.Index, i)
		sample.Weight = append(sample.Weight, population.Weights[i])
		sample.Count = append(sample.Count, 1)
	}
}

// cumulate returns the running sums of weights, in scratch.
func cumulate(weights []float64, scratch *drawScratch) []float64 {
	sums := resize(scratch.sums, len(weights))
	scratch.sums = sums
	var total float64
	for i, w := range weights {
		total += w
		sums[i] = total
	}
	return sums
}

// drawCumulative returns a random index, given the running sums of the weights.
func drawCumulative(rng *rand.Rand, sums []float64) int32 {
	total := sums[len(sums)-1]
	u := rng.Float64() * total
	i := sort.Search(len(sums), func(i int) bool { return sums[i] > u })
	if i == len(sums) { // u rounded up to the total
		i = sort.SearchFloat64s(sums, total)
	}
	return int32(i)
}
