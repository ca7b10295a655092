package samplers

import (
	"math"
	"math/rand/v2"
)

// Systematic is systematic sampling of fixed size with inclusion probabilities
// proportional to size (Madow 1949), the candidates in random order (Hartley &
// Rao 1962):
//
//	π_i = min(1, c·w_i),   c such that Σ π_i = s.
//
// Candidates with π_i = 1 are all taken. The others, in random order, become
// intervals of length π_i laid end to end, and the points U, U+1, U+2, …, with U
// uniform on [0, 1), select the candidates. The random order affects only the joint
// probabilities: without it the variance would depend on the numbering of the
// graph.
//
// Cost: O(m), one random number per candidate.
type Systematic struct{}

// Draw implements Draw: exactly s candidates.
func (Systematic) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset(s)
	scale := inclusionScale(population, s)
	order := sample.order[:0]
	for i, w := range population.Weights {
		switch {
		case w == 0:
		case scale*w >= 1:
			sample.add(int32(i), w, 1)
		default:
			order = append(order, int32(i))
		}
	}
	sample.order = order
	points := s - len(sample.Index)
	if points <= 0 {
		return
	}
	rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	var length float64 // summed in the order of the loop below, for the same rounding
	for _, i := range order {
		length += population.Weights[i]
	}
	step := length / float64(points)
	before := math.Nextafter(length, 0)
	u := rng.Float64()
	point, end := min(u*step, before), 0.0
	for _, i := range order {
		w := population.Weights[i]
		end += w
		if end > point {
			sample.add(i, w, w/step)
			u++
			point = min(u*step, before)
			if len(sample.Index) == s {
				return
			}
		}
	}
}
