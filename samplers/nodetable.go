package samplers

import "math/bits"

// nodeTable is a hash table from nodes to numbers, with open addressing. A number below
// base counts as none, so that a new base empties the table. One call at a time may use it.
// The zero value is empty.
type nodeTable struct {
	slots []nodeSlot // a power of two, at most half of them full
	shift uint       // 32 − log₂ of their number
}

type nodeSlot struct{ node, number int32 }

const leastSlots = 1 << 10

// reset removes all numbers.
func (t *nodeTable) reset() { clear(t.slots) }

// place returns the slot of node, or the free slot where it belongs.
func (t *nodeTable) place(node, base int32) *nodeSlot {
	slots := t.slots
	mask := uint32(len(slots) - 1)
	for at := firstSlot(node, t.shift); ; at++ {
		slot := &slots[at&mask]
		// One branch, which is nearly always taken: a processor cannot predict whether a node
		// has a number. (number − base) >> 31 is all ones if the slot is free.
		if (slot.node^node)&^((slot.number-base)>>31) == 0 {
			return slot
		}
	}
}

// firstSlot returns the slot at which the search for node begins, in a table with this shift.
func firstSlot(node int32, shift uint) uint32 {
	const golden = 0x9e3779b1 // 2³² divided by the golden ratio: Fibonacci hashing
	return uint32(node) * golden >> shift
}

// firstSlots sets slots to the places at which the searches for nodes begin.
func (t *nodeTable) firstSlots(slots, nodes []int32) {
	shift := t.shift & 31
	for k, node := range nodes {
		slots[k] = int32(firstSlot(node, shift))
	}
}

// get returns the number of node, or one below base. The table may be empty.
func (t *nodeTable) get(node, base int32) int32 {
	if len(t.slots) == 0 {
		return base - 1
	}
	return t.place(node, base).number
}

// set gives node a number of at least base. The caller has reserved a slot.
func (t *nodeTable) set(node, number, base int32) {
	*t.place(node, base) = nodeSlot{node, number}
}

// reserve makes room for count numbers. nodes are those in the table, with the numbers
// base, base+1, …
func (t *nodeTable) reserve(count int, nodes []int32, base int32) {
	if 2*count <= len(t.slots) {
		return
	}
	size := max(1<<bits.Len(uint(2*count-1)), leastSlots)
	t.slots = make([]nodeSlot, size)
	t.shift = uint(32 - bits.TrailingZeros(uint(size)))
	for k, node := range nodes {
		t.set(node, base+int32(k), base)
	}
}
