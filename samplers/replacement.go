package samplers

import (
	"math/rand/v2"
	"slices"
)

// WithReplacement draws s times independently, each candidate with probability
// proportional to its weight. The sample holds each candidate once, with the number
// of its draws. Cost: O(m + s), or O(s) if one law serves many batches.
type WithReplacement struct{}

// Draw implements Draw: at most s distinct candidates, s draws.
func (WithReplacement) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset(s)
	sample.drawRepeatedly(rng, population, s, 0)
}

// drawRepeatedly draws n times with replacement. While it has drawn fewer than n distinct
// candidates, and fewer than so many repeats, it goes on. s is empty before.
func (s *Sample) drawRepeatedly(rng *rand.Rand, population *Population, n, repeats int) {
	if population.table == nil {
		s.law.build(population.Weights)
	}
	s.set.reset(n)
	for draws, next := 0, n; next > 0; next = min(n-len(s.Index), repeats-(draws-len(s.Index))) {
		draws += next
		s.Index = slices.Grow(s.Index, next)
		drawn := s.Index[len(s.Index):][:next] // candidates take their places at most up to the one read
		// All draws come first: reads of the law that do not wait for the set overlap.
		for k := range drawn {
			if population.table != nil {
				drawn[k] = population.table.draw(rng)
			} else {
				drawn[k] = s.law.draw(rng)
			}
		}
		for _, i := range drawn {
			if at, isNew := s.set.add(i); !isNew {
				s.Count[at]++
				continue
			}
			s.Index, s.Weight = append(s.Index, i), append(s.Weight, population.Weights[i])
			s.Count = append(s.Count, 1)
		}
	}
}
