package samplers

import (
	"math/rand/v2"
	"slices"
)

// aliasTable draws an index in constant time with probability proportional to
// its weight (Walker 1977; construction of Vose 1991). Read-only after
// newAliasTable.
type aliasTable []aliasCell

// aliasCell stands for its own index with probability keep, else for other.
type aliasCell struct {
	keep  float64
	other int32
}

// newAliasTable returns the table of weights, whose sum total is positive.
// Cost: O(len(weights)) time and 16 bytes each.
func newAliasTable(weights []float64, total float64) aliasTable {
	n := len(weights)
	cells := make(aliasTable, n)
	small, large := make([]int32, 0, n), make([]int32, 0, n)
	for i, w := range weights {
		cells[i] = aliasCell{keep: w / total * float64(n), other: int32(i)}
		if cells[i].keep < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		cells[s].other = l
		cells[l].keep -= 1 - cells[s].keep
		if cells[l].keep < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// The remaining cells have keep = 1 up to rounding. A cell of weight 0 must
	// still never stand for its own index.
	for _, i := range append(large, small...) {
		if weights[i] > 0 {
			cells[i].keep = 1
		} else {
			cells[i].other = int32(slices.IndexFunc(weights, func(w float64) bool { return w > 0 }))
		}
	}
	return cells
}

// draw returns a random index.
func (t *aliasTable) draw(rng *rand.Rand) int32 {
	i := rng.IntN(len(*t))
	u, cell := rng.Float64(), (*t)[i]
	drawn := cell.other
	if u < cell.keep { // no branch: a processor cannot predict it
		drawn = int32(i)
	}
	return drawn
}
