package samplers

import (
	"math"
	"math/rand/v2"
)

// inversion draws an index with probability proportional to its weight. It searches
// the cumulative sums of the weights, and a guide table tells where to start
// ("indexed search": Chen & Asau 1974). It is cheaper to build than an alias table,
// so it is the better choice for a law that serves a single batch. One call at a
// time may use it. Call build before draw.
type inversion struct {
	sums  []float64 // cumulative sums of the weights
	guide []int32   // of each bucket of sums: the first index that can fall into it
	scale float64   // buckets / total
}

// build prepares for weights, whose sum is positive and finite. Cost: O(m).
func (v *inversion) build(weights []float64) {
	sums, total := resize(&v.sums, len(weights)), 0.0
	for i, w := range weights {
		total += w
		sums[i] = total
	}
	buckets := 1 + len(weights)/4
	v.scale = min(float64(buckets)/total, math.MaxFloat64)
	// A bucket starts after the last index whose sum lies in an earlier bucket.
	guide, scale := resize(&v.guide, buckets+2), v.scale
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
	total := v.sums[len(v.sums)-1]
	x := total
	for x >= total { // the product may be rounded up to total
		x = rng.Float64() * total
	}
	i := v.guide[int(x*v.scale)]
	for v.sums[i] <= x {
		i++
	}
	return i
}
