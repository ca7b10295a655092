package samplers

import (
	"errors"
	"fmt"
)

var errNoSeeds = errors.New("samplers: a batch needs at least one seed node")

// CheckSeeds returns an error unless seeds are distinct nodes of a graph of that many nodes, and
// at least one. Every Sampler refuses other seeds. Cost: O(len(seeds)).
func CheckSeeds(seeds []int32, nodes int) error { return new(indexSet).check(seeds, nodes) }

// check is CheckSeeds in the memory of s.
func (s *indexSet) check(seeds []int32, nodes int) error {
	if len(seeds) == 0 {
		return errNoSeeds
	}
	s.reset(len(seeds))
	for k, v := range seeds {
		if v < 0 || int(v) >= nodes {
			return outsideGraph(k, v, nodes)
		}
		if _, isNew := s.add(v); !isNew {
			return seedTwice(k, v)
		}
	}
	return nil
}

func outsideGraph(k int, v int32, nodes int) error {
	return fmt.Errorf("samplers: seed %d is node %d, outside [0, %d)", k, v, nodes)
}

func seedTwice(k int, v int32) error {
	return fmt.Errorf("samplers: seed %d is node %d, which is a seed already", k, v)
}

// indexSet numbers distinct indices in the order of their addition. It is a hash
// table with open addressing. Call reset before use.
type indexSet struct {
	slots []indexSlot // the length is a power of two
	size  int32
}

// indexSlot holds index+1 and the number of the index; index1 is 0 in a free slot.
type indexSlot struct{ index1, number int32 }

// reset empties the set and makes room for n indices.
func (s *indexSet) reset(n int) {
	slots := 16
	for slots < 2*n {
		slots *= 2
	}
	s.slots = resize(s.slots, slots)
	clear(s.slots)
	s.size = 0
}

// add puts i into the set if it is not there, and returns its number and whether it
// is new. The set must have room for i.
func (s *indexSet) add(i int32) (number int32, isNew bool) {
	mask := uint32(len(s.slots) - 1)
	for at := uint32(i) * 0x9e3779b1 >> 7 & mask; ; at = (at + 1) & mask {
		switch slot := &s.slots[at]; slot.index1 {
		case 0:
			*slot = indexSlot{i + 1, s.size}
			s.size++
			return slot.number, true
		case i + 1:
			return slot.number, false
		}
	}
}
