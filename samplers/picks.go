package samplers

import (
	"math/rand/v2"
	"slices"
)

// picks draws k of d candidates with equal probabilities, in memory that it
// reuses.
type picks struct {
	index  []int32 // candidates picked, distinct
	count  []int32 // with replacement: the number of draws of each; else nil
	factor float64 // d/k, the weight of one draw

	set    nodeTable
	counts []int32
}

// linearPicks is the largest k for a linear search among the picks.
const linearPicks = 32

// draw picks k distinct candidates, all of them if k ≥ d; with replace, it picks
// the distinct candidates of k independent draws. Cost: O(k).
func (p *picks) draw(rng *rand.Rand, d, k int, replace bool) {
	p.index, p.count, p.factor = p.index[:0], nil, 1
	switch {
	case d == 0:
	case replace:
		p.drawRepeated(rng, d, k)
	case k >= d:
		for c := range int32(d) {
			p.index = append(p.index, c)
		}
	default:
		p.drawDistinct(rng, d, k)
	}
}

// drawDistinct picks each set of k < d candidates with the same probability, by
// Floyd's algorithm (Bentley 1987, "Programming pearls: a sample of brilliance"):
// step j draws from the first d−k+j candidates, and picks the last of these if the
// drawn one is picked already.
func (p *picks) drawDistinct(rng *rand.Rand, d, k int) {
	p.factor = float64(d) / float64(k)
	linear := k <= linearPicks
	if !linear {
		p.set.reset(k)
	}
	for last := d - k; last < d; last++ {
		c := int32(rng.Uint32N(uint32(last) + 1))
		if linear {
			if slices.Contains(p.index, c) {
				c = int32(last)
			}
		} else if _, isNew := p.set.add(c); !isNew {
			c = int32(last)
			p.set.add(c)
		}
		p.index = append(p.index, c)
	}
}

// drawRepeated draws k times with replacement.
func (p *picks) drawRepeated(rng *rand.Rand, d, k int) {
	p.factor = float64(d) / float64(k)
	p.set.reset(min(k, d))
	p.counts = p.counts[:0]
	for range k {
		c := int32(rng.Uint32N(uint32(d)))
		at, isNew := p.set.add(c)
		if isNew {
			p.index = append(p.index, c)
			p.counts = append(p.counts, 0)
		}
		p.counts[at]++
	}
	p.count = p.counts
}
