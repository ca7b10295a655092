package samplers

import (
	"math"
	"math/bits"
)

// nodeTable numbers distinct nodes, or other indices, 0, 1, … in the order of their addition. It
// is a hash table with open addressing. One call at a time may use it. Call reset before use.
type nodeTable struct {
	slots  []nodeSlot // a power of two, at most half of them full; or one a node
	factor uint32     // of the hash; 1: node k has slot k, and no other node
	shift  uint       // of the hash: 32 − log₂ of the number of slots, or 0
	base   int32      // a slot of a number below base is free, so that a new base empties the table
	size   int32      // number of nodes
}

// nodeSlot holds a node and base + its number. In a table with a slot for each node, the bits of
// the node's column scale stand in place of the node, so that one random read fetches both.
type nodeSlot struct{ node, number int32 }

// leastSlots are 32 KB, so that a sample of 512 fills an eighth of them and meets few taken ones.
const leastSlots = 1 << 12

// reset empties the table and makes room for count nodes. Cost: O(1), but O(slots) once in
// about 2³⁰ numbers.
func (t *nodeTable) reset(count int) {
	t.base += t.size
	if t.base == 0 || t.base > math.MaxInt32/2 {
		for k := range t.slots {
			t.slots[k].number = 0
		}
		t.base = 1
	}
	t.size = 0
	t.reserve(count, nil)
}

// place returns the slot of node, or the free slot where it belongs.
func (t *nodeTable) place(node int32) *nodeSlot {
	if t.factor == 1 {
		return &t.slots[node]
	}
	return search(t.slots, t.base, node, t.firstSlot(node))
}

// search is place for a table of these slots and base; it begins at slot at.
func search(slots []nodeSlot, base, node int32, at uint32) *nodeSlot {
	for ; ; at = (at + 1) & uint32(len(slots)-1) {
		slot := &slots[at]
		// One branch, which is nearly always taken: a processor cannot predict whether a node
		// has a number. (number − base) >> 31 is all ones if the slot is free.
		if (slot.node^node)&^((slot.number-base)>>31) == 0 {
			return slot
		}
	}
}

// firstSlot returns the slot at which the search for node begins.
func (t *nodeTable) firstSlot(node int32) uint32 { return uint32(node) * t.factor >> (t.shift & 31) }

// number returns the number of node, or a negative one if it has none.
func (t *nodeTable) number(node int32) int32 { return t.place(node).number - t.base }

// add gives node the next number if it has none, and returns its number and whether it is new.
// The table must have room.
func (t *nodeTable) add(node int32) (number int32, isNew bool) {
	slot := t.place(node)
	if number = slot.number - t.base; number >= 0 {
		return number, false
	}
	if slot.number = t.base + t.size; t.factor != 1 {
		slot.node = node
	}
	t.size++
	return t.size - 1, true
}

// reserve makes room for count nodes. nodes are those in the table, in order.
func (t *nodeTable) reserve(count int, nodes []int32) {
	if t.factor == 1 || len(t.slots) >= max(2*count, leastSlots) {
		return
	}
	const golden = 0x9e3779b1 // 2³² divided by the golden ratio: Fibonacci hashing
	log := bits.Len(uint(max(2*count, leastSlots) - 1))
	t.slots, t.factor, t.shift = make([]nodeSlot, 1<<log), golden, uint(32-log)
	t.size = 0
	for _, node := range nodes {
		t.add(node)
	}
}
