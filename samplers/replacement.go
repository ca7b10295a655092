package samplers

import "math/rand/v2"

// WithReplacement draws s times independently, each candidate with probability
// proportional to its weight. The sample holds each candidate once, with the number
// of its draws. Cost: O(m + s), or O(s) if one law serves many batches.
type WithReplacement struct{}

// Draw implements Draw: at most s distinct candidates, s draws.
func (WithReplacement) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset(s)
	sample.drawRepeatedly(rng, population, s, func(draws int) bool { return draws < s })
}

// drawRepeatedly draws with replacement while more is true for the number of draws so far. There
// is room for so many distinct candidates.
func (s *Sample) drawRepeatedly(rng *rand.Rand, population *Population, most int, more func(draws int) bool) {
	set, draw := &s.set, population.table.draw
	if population.table == nil {
		s.law.build(population.Weights)
		draw = s.law.draw
	}
	set.reset(most)
	for draws := 0; more(draws); draws++ {
		i := draw(rng)
		if at, isNew := set.add(i); !isNew {
			s.Count[at]++
			continue
		}
		s.Index, s.Weight = append(s.Index, i), append(s.Weight, population.Weights[i])
		s.Count = append(s.Count, 1)
	}
}
