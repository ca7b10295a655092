package samplers

import "math/rand/v2"

// WithReplacement draws s times independently, each candidate with probability
// proportional to its weight. The sample holds each candidate once, with the number
// of its draws. Cost: O(m + s), or O(s) if one law serves many batches.
type WithReplacement struct{}

// Draw implements Draw: at most s distinct candidates, s draws.
func (WithReplacement) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset(s)
	set := &sample.scratch.set
	set.reset(s)
	law := population.law(&sample.scratch)
	for range s {
		i := law.draw(rng)
		if at, isNew := set.add(i); !isNew {
			sample.Count[at]++
			continue
		}
		sample.Index = append(sample.Index, i)
		sample.Weight = append(sample.Weight, population.Weights[i])
		sample.Count = append(sample.Count, 1)
	}
}
