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
	picked := lowest{entries: sample.scratch.entries[:0], bound: math.Inf(1), count: s}
	already := len(sample.Index) > 0 // then drawDistinct has them in the set
	for i, w := range population.Weights {
		key := rng.ExpFloat64() / w
		if key > math.MaxFloat64 && w > 0 { // w is so small that the key overflows
			key = math.MaxFloat64 // last of the candidates that may be drawn
		}
		if key < picked.bound && (!already || sample.scratch.set.number(int32(i)) < 0) {
			picked.add(keyed{key, int32(i)})
		}
	}
	picked.sort()
	sample.scratch.entries, sample.Threshold = picked.entries, picked.bound
	for _, p := range picked.entries[:min(s, len(picked.entries))] {
		w := population.Weights[p.index]
		sample.Index = append(sample.Index, p.index)
		sample.Weight = append(sample.Weight, w)
		drawn += w
	}
	return drawn
}

// keyed is a candidate with its key.
type keyed struct {
	key   float64
	index int32
}

func compareKeyed(a, b keyed) int {
	switch {
	case a.key < b.key:
		return -1
	case a.key > b.key:
		return 1
	}
	return int(a.index - b.index)
}

// lowest collects the count+1 candidates of smallest key among those that are added, in
// increasing order of index. The caller adds only keys below bound.
//
// With twice as many as wanted, it keeps the smallest ones, and the largest of these is the new
// bound. Cost for n keys: O(n), and O(count log count·log(n/count)) expected in random order.
type lowest struct {
	entries []keyed
	bound   float64 // +Inf before the first sort of more than count candidates
	count   int
}

func (l *lowest) add(k keyed) {
	if l.entries = append(l.entries, k); len(l.entries) == 2*(l.count+1) {
		l.sort()
	}
}

// sort puts the candidates in increasing order of key, equal keys by index, and drops all after
// the first count+1. The key of the last one is then the bound.
func (l *lowest) sort() {
	slices.SortFunc(l.entries, compareKeyed)
	if len(l.entries) > l.count {
		l.entries, l.bound = l.entries[:l.count+1], l.entries[l.count].key
	}
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
