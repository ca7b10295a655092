package samplers

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
