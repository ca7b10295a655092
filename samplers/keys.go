package samplers

import (
	"math"
	"slices"
)

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
	return int(a.index) - int(b.index)
}

// smallestKeys returns the s smallest keys in increasing order (equal keys by
// index), and the smallest of the other keys, or +Inf if there is none. At least s
// keys must be finite. The result lies in scratch, and is valid until its next use.
//
// Cost: O(len(keys)) expected. It guesses, from a sample of the keys, a bound with
// slightly more than s keys at or below it, and sorts these keys by buckets.
// Exponential keys below a bound fill the buckets nearly evenly.
func smallestKeys(keys []float64, s int, scratch *drawScratch) (picked []keyed, threshold float64) {
	if s <= mostInserted {
		return insertSmallest(keys, s, scratch)
	}
	bound := guessBound(keys, s+1, scratch)
	entries := scratch.entries[:0]
	for {
		for i, k := range keys {
			if k <= bound {
				entries = append(entries, keyed{k, int32(i)})
			}
		}
		if len(entries) > s || bound == math.MaxFloat64 {
			break
		}
		entries = entries[:0]
		bound = math.MaxFloat64 // the guess was too low: take every finite key
	}
	scratch.entries = entries
	sorted := sortKeyed(entries, bound, scratch)
	threshold = math.Inf(1)
	if len(sorted) > s {
		threshold = sorted[s].key
	}
	return sorted[:s], threshold
}

// mostInserted is the largest s for which insertSmallest is faster.
const mostInserted = 12

// insertSmallest is smallestKeys for a small s: it keeps the s+1 smallest keys seen
// so far in order. Cost: O(len(keys)), and s² log(len(keys)/s) moves expected.
func insertSmallest(keys []float64, s int, scratch *drawScratch) (picked []keyed, threshold float64) {
	var best [mostInserted + 1]keyed
	count := 0
	for i, k := range keys {
		at := count
		if count <= s {
			count++
		} else if at = s; !(k < best[s].key) {
			continue
		}
		for ; at > 0 && k < best[at-1].key; at-- { // equal keys stay in order of index
			best[at] = best[at-1]
		}
		best[at] = keyed{k, int32(i)}
	}
	scratch.entries = append(scratch.entries[:0], best[:count]...)
	if count <= s {
		return scratch.entries[:s], math.Inf(1)
	}
	return scratch.entries[:s], best[s].key
}

// guessBound returns a bound with at least s keys at or below it, most likely, and not many
// more. It returns MaxFloat64 if there are too few keys to sample.
func guessBound(keys []float64, s int, scratch *drawScratch) float64 {
	const sampled = 256
	if len(keys) < 4*sampled || s >= len(keys) {
		return math.MaxFloat64
	}
	stride := len(keys) / sampled
	sample := resize(scratch.sums, sampled)
	scratch.sums = sample
	for k := range sample {
		sample[k] = keys[k*stride]
	}
	share := float64(s) / float64(len(keys))
	rank := int(math.Ceil(sampled*share+3*math.Sqrt(sampled*share*(1-share)))) + 2
	if rank >= sampled {
		return math.MaxFloat64
	}
	slices.Sort(sample)
	return min(sample[rank], math.MaxFloat64)
}

// sortKeyed returns the entries in increasing order. Their keys must be in
// [0, bound].
func sortKeyed(entries []keyed, bound float64, scratch *drawScratch) []keyed {
	if len(entries) < 64 || bound == math.MaxFloat64 {
		slices.SortFunc(entries, compareKeyed)
		return entries
	}
	buckets := len(entries)
	ends := resize(scratch.counts, buckets+1)
	scratch.counts = ends
	clear(ends)
	scale := float64(buckets-1) / bound
	for _, e := range entries {
		ends[int(e.key*scale)]++
	}
	var sum int32
	for b := range ends {
		sum += ends[b]
		ends[b] = sum
	}
	sorted := resize(scratch.sorted, len(entries))
	scratch.sorted = sorted
	for i := len(entries) - 1; i >= 0; i-- {
		b := int(entries[i].key * scale)
		ends[b]--
		sorted[ends[b]] = entries[i]
	}
	// The buckets are in order and short, so insertion sort takes linear time.
	for i := 1; i < len(sorted); i++ {
		e := sorted[i]
		j := i
		for ; j > 0 && compareKeyed(e, sorted[j-1]) < 0; j-- {
			sorted[j] = sorted[j-1]
		}
		sorted[j] = e
	}
	return sorted
}
