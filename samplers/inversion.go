package samplers

import (
	"math"
	"math/rand/v2"
)

// inversion draws an index with probability proportional to its weight by
// inverting the running sums of the weights, which it searches from where a
// guide table points ("indexed search": Chen & Asau 1974). It is cheaper to set
// up than an alias table, and so the better one for a law that serves a single
// batch. One belongs to one worker; build must come first.
type inversion struct {
	sums  []float64 // of the weights up to and including each
	guide []int32   // of each bucket of sums: the first index that can fall in it
	total float64
	scale float64 // buckets / total
}

// build prepares for weights, whose sum is positive and finite. Cost: O(m).
func (v *inversion) build(weights []float64) {
	v.sums = resize(v.sums, len(weights))
	sums := v.sums
	var total float64
	for i, w := range weights {
		total += w
		sums[i] = total
	}
	buckets := 1
	for 4*buckets < len(weights) {
		buckets *= 2
	}
	v.total, v.scale = total, float64(buckets)/total
	if math.IsInf(v.scale, 1) {
		v.scale = 0 // so small a total: one bucket
	}
	// A bucket starts after the last index whose sum lies in a bucket before it.
	v.guide = resize(v.guide, buckets+2)
	guide, scale := v.guide, v.scale
	clear(guide)
	for i, sum := range sums {
		guide[int(sum*scale)+1] = int32(i + 1)
	}
	var first int32
	for k, next := range guide {
		first = max(first, next)
		guide[k] = first
	}
}

// draw returns a random index, of positive weight.
func (v *inversion) draw(rng *rand.Rand) int32 {
	x := v.total
	for x >= v.total { // in case the product is rounded up to it
		x = rng.Float64() * v.total
	}
	i := v.guide[int(x*v.scale)]
	for v.sums[i] <= x {
		i++
	}
	return i
}
