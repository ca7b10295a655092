package samplers

import (
	"math"
	"math/rand/v2"
)

// WithoutReplacement is weighted random sampling: it draws candidates one after the
// other, each with probability proportional to its weight among the candidates not
// yet drawn.
//
// If s is small compared to the number m of candidates, it draws with replacement
// and skips repeats, which has the same law. Otherwise it takes the s smallest of
// the exponential keys E_i/w_i in increasing order (Efraimidis & Spirakis 2006,
// "Weighted random sampling with a reservoir", algorithm A with exponential keys).
// Cost: O(m + s), or O(s) if one law serves many batches and s is small compared
// to m.
type WithoutReplacement struct {
	// Keys always draws by keys, and sets Sample.Threshold. Cost: O(m + s).
	Keys bool
}

// Draw implements Draw: exactly s candidates.
func (d WithoutReplacement) Draw(rng *rand.Rand, population *Population, s int, sample *Sample) {
	sample.reset()
	sample.Draws = s
	drawn := 0.0
	if !d.Keys && s <= population.Positive/2 {
		drawn = drawDistinct(rng, population, s, sample)
	}
	if len(sample.Index) < s {
		drawn += drawByKeys(rng, population, s-len(sample.Index), sample)
	}
	never := population.Total - drawn
	if drawn > 0.5*population.Total { // avoid cancellation
		never = neverDrawn(population, sample)
	}
	sample.Remaining = resize(sample.Remaining, s)
	for j := s - 1; j >= 0; j-- {
		never += sample.Weight[j]
		sample.Remaining[j] = never
	}
}

// drawDistinct draws with replacement and skips repeats, until it has s candidates
// or has met too many repeats. It returns the weight of the candidates. Given the
// candidates drawn so far, the next new one has the law of weighted random
// sampling, so drawByKeys may continue at any point.
func drawDistinct(rng *rand.Rand, population *Population, s int, sample *Sample) (drawn float64) {
	law := population.law(&sample.scratch)
	set := &sample.scratch.set
	set.reset(s)
	for repeats := 4*s + 32; len(sample.Index) < s && repeats > 0; {
		i := law.draw(rng)
		if _, isNew := set.add(i); !isNew {
			repeats--
			continue
		}
		w := population.Weights[i]
		sample.Index = append(sample.Index, i)
		sample.Weight = append(sample.Weight, w)
		drawn += w
	}
	return drawn
}

// drawByKeys appends the s candidates of smallest key that are not in sample yet, in
// increasing order of key, and returns their weight.
func drawByKeys(rng *rand.Rand, population *Population, s int, sample *Sample) (drawn float64) {
	weights := population.Weights
	scratch := &sample.scratch
	scratch.keys = resize(scratch.keys, len(weights))
	keys := scratch.keys
	for i, w := range weights {
		key := rng.ExpFloat64() / w
		if !(key <= math.MaxFloat64) { // w is 0, or so small that the key overflows
			if key = math.Inf(1); w > 0 {
				key = math.MaxFloat64 // last of the candidates that may be drawn
			}
		}
		keys[i] = key
	}
	for _, i := range sample.Index {
		keys[i] = math.Inf(1)
	}
	picked, threshold := smallestKeys(keys, s, scratch)
	sample.Threshold = threshold
	for _, p := range picked {
		w := weights[p.index]
		sample.Index = append(sample.Index, p.index)
		sample.Weight = append(sample.Weight, w)
		drawn += w
	}
	return drawn
}

// neverDrawn sums the weights of the candidates that are not in sample.
func neverDrawn(population *Population, sample *Sample) float64 {
	if len(sample.Index) == population.Positive {
		return 0
	}
	mask := resize(sample.scratch.counts, len(population.Weights))
	sample.scratch.counts = mask
	clear(mask)
	for _, i := range sample.Index {
		mask[i] = 1
	}
	var sum float64
	for i, w := range population.Weights {
		if mask[i] == 0 {
			sum += w
		}
	}
	return sum
}
