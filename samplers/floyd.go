package samplers

import "math/rand/v2"

// drawUniform draws each set of k < n candidates with the same probability, by Floyd's
// algorithm (Bentley 1987, "Programming pearls: a sample of brilliance"): step j draws from
// the first n−k+j candidates, and takes the last of these if it has the drawn one already.
// The factors are n/k. If k ≥ n, it takes all n. Of s it sets only Index and factor. Cost: O(k).
func (s *Sample) drawUniform(rng *rand.Rand, n, k int) {
	s.Index, s.factor = s.Index[:0], s.factor[:0]
	k = min(k, n)
	factor, set := float64(n)/float64(k), &s.scratch.set
	set.reset(k)
	for last := n - k; last < n; last++ {
		c := int32(last)
		if k < n {
			c = int32(rng.Uint32N(uint32(last) + 1))
			if _, isNew := set.add(c); !isNew {
				c = int32(last)
				set.add(c)
			}
		}
		s.Index, s.factor = append(s.Index, c), append(s.factor, factor)
	}
}
