package samplers

import (
	"math"
	"math/rand/v2"
	"slices"
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
	sample.reset(s)
	if !d.Keys && s <= population.Positive/2 {
		// Given the candidates drawn so far, the next new one has the law of weighted random
		// sampling. So after too many repeats, drawByKeys may continue.
		sample.drawRepeatedly(rng, population, s, 4*s+32)
		sample.Count = sample.Count[:0]
	}
	if len(sample.Index) < s {
		drawByKeys(rng, population, s-len(sample.Index), sample)
	}
	drawn := 0.0
	for _, w := range sample.Weight {
		drawn += w
	}
	never := population.Total - drawn
	if drawn > 0.5*population.Total { // avoid cancellation
		never = neverDrawn(population, sample)
	}
	for j, remaining := s-1, resize(&sample.Remaining, s); j >= 0; j-- {
		never += sample.Weight[j]
		remaining[j] = never
	}
}

// drawByKeys appends the s candidates of smallest key that are not in sample yet, in
// increasing order of key. With twice as many keys as wanted it drops the largest, and takes
// only smaller ones from then on. Cost: O(m + s log s·log(m/s)) expected.
func drawByKeys(rng *rand.Rand, population *Population, s int, sample *Sample) {
	entries, bound := sample.entries[:0], math.Inf(1)
	already := len(sample.Index) > 0 // then the set has them
	for i, w := range population.Weights {
		key := rng.ExpFloat64() / w
		if key > math.MaxFloat64 && w > 0 { // w is so small that the key overflows
			key = math.MaxFloat64 // last of the candidates that may be drawn
		}
		if key < bound && (!already || sample.set.number(int32(i)) < 0) {
			if entries = append(entries, keyed{key, int32(i)}); len(entries) == 2*(s+1) {
				entries, bound = smallest(entries, s)
			}
		}
	}
	entries, bound = smallest(entries, s)
	sample.entries, sample.Threshold = entries, bound
	for _, p := range entries[:min(s, len(entries))] {
		sample.Index, sample.Weight = append(sample.Index, p.index), append(sample.Weight, population.Weights[p.index])
	}
}

// keyed is a candidate with its key.
type keyed struct {
	key   float64
	index int32
}

// smallest sorts entries by key, equal keys by index. It returns the first s+1 of them, and the
// key of the last of these; +Inf if there are fewer.
func smallest(entries []keyed, s int) ([]keyed, float64) {
	slices.SortFunc(entries, func(a, b keyed) int {
		switch { // faster than cmp.Compare
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return int(a.index - b.index)
	})
	if len(entries) <= s {
		return entries, math.Inf(1)
	}
	return entries[:s+1], entries[s].key
}

// neverDrawn sums the weights of the candidates that are not in sample.
func neverDrawn(population *Population, sample *Sample) (sum float64) {
	rest := append(sample.sums[:0], population.Weights...)
	sample.sums = rest
	for _, i := range sample.Index {
		rest[i] = 0
	}
	for _, w := range rest {
		sum += w
	}
	return sum
}
