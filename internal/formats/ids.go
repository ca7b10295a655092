package formats

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"iter"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
)

// nodeIDs gives each id in the files of one data set a handle. An id is a text. The handle of a
// whole number from 0, in its usual form, is the number; other ids have the handles −1, −2, …
// as they appear.
type nodeIDs struct {
	r     *reader     // of the files
	names graph.Names // the id of handle −1−k
	slots []idSlot    // of a hash table with open addressing
	seed  maphash.Seed
}

// idSlot holds an id that is no number: its hash, its handle, 0 in a free slot, and where its
// text is in the names: the beginning, times 2²⁴, plus the length.
type idSlot struct {
	hash   uint32
	handle int32
	place  uint64
}

func newNodeIDs(r *reader) nodeIDs {
	return nodeIDs{r: r, slots: make([]idSlot, 1<<10), seed: maphash.MakeSeed()}
}

// smallNumbers bounds the numbers that are their own handles: a set has a bit for each below its
// largest one. Larger ones are kept as texts.
const smallNumbers = 1 << 28

// numberID returns a whole number from 0 below smallNumbers, without leading zeros.
func numberID(id []byte) (int32, bool) {
	if !isNumber(id) {
		return 0, false
	}
	number, ok := parseID(id)
	return number, ok && number < smallNumbers
}

// hashOf returns the hash of an id that is no number.
func (n *nodeIDs) hashOf(id []byte) uint32 { return uint32(maphash.Bytes(n.seed, id)) }

// slot returns the slot of an id, or the free one where it belongs.
func (n *nodeIDs) slot(id []byte, hash uint32) *idSlot {
	for k := int(hash); ; k++ {
		s := &n.slots[k&(len(n.slots)-1)]
		from, length := s.place>>24, s.place&(1<<24-1)
		if s.handle == 0 || s.hash == hash && string(n.names.Text[from:from+length]) == string(id) {
			return s
		}
	}
}

// find returns the handle of an id, if it has one.
func (n *nodeIDs) find(id []byte) (handle int32, known bool) {
	if number, ok := numberID(id); ok {
		return number, true
	}
	handle = n.slot(id, n.hashOf(id)).handle
	return handle, handle != 0
}

// handle returns the handle of an id, a new one if it has none.
func (n *nodeIDs) handle(id []byte) int32 {
	if number, ok := numberID(id); ok {
		return number
	}
	return n.hashed(id, n.hashOf(id))
}

// hashed is handle for an id that is no number.
func (n *nodeIDs) hashed(id []byte, hash uint32) int32 {
	s := n.slot(id, hash)
	if s.handle != 0 {
		return s.handle
	}
	const entry, growth = 160, 3 // bytes in growing slices, and in the order of the names; bytes for each of the text
	n.r.take(entry + growth*len(id))
	handle := ^int32(n.names.Len())
	*s = idSlot{hash, handle, uint64(len(n.names.Text))<<24 | uint64(len(id))}
	n.names.Append(string(id))
	if 2*n.names.Len() > len(n.slots) {
		old := n.slots
		n.slots = make([]idSlot, 2*len(old))
		for _, s := range old {
			if s.handle != 0 {
				*n.slot(n.names.Text[s.place>>24:][:s.place&(1<<24-1)], s.hash) = s
			}
		}
	}
	return handle
}

// text returns an id as the files write it.
func (n *nodeIDs) text(handle int32) string {
	if handle >= 0 {
		return strconv.Itoa(int(handle))
	}
	return n.names.At(int(^handle))
}

// quoted returns an id as an error names it.
func (n *nodeIDs) quoted(handle int32) string { return quotedID(n.text(handle)) }

func quotedID(id string) string {
	if isNumber(id) {
		return id
	}
	return fmt.Sprintf("%.40q", id)
}

// some names the first three ids of a list.
func (n *nodeIDs) some(handles []int32) string {
	var texts []string
	for _, h := range handles[:min(len(handles), 3)] {
		texts = append(texts, n.quoted(h))
	}
	if len(handles) > 3 {
		texts = append(texts, "…")
	}
	return strings.Join(texts, ", ")
}

// idSet is a set of handles: bit 2k is the number k, and bit 2k+1 the other id k.
type idSet struct {
	bits  []uint64
	count int
}

// place returns the word and the bit of a handle.
func place(handle int32) (word int, bit uint64) {
	at := uint32(handle<<1 ^ handle>>31)
	return int(at / 64), 1 << (at % 64)
}

// add adds a handle, and tells whether it is new.
func (s *idSet) add(handle int32) bool {
	word, bit := place(handle)
	if word >= len(s.bits) {
		s.bits = append(s.bits, make([]uint64, word+1-len(s.bits))...)
	}
	if s.bits[word]&bit != 0 {
		return false
	}
	s.bits[word] |= bit
	s.count++
	return true
}

func (s *idSet) has(handle int32) bool {
	word, bit := place(handle)
	return word < len(s.bits) && s.bits[word]&bit != 0
}

// all visits the handles, numbers in ascending order.
func (s *idSet) all() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for w, word := range s.bits {
			for ; word != 0; word &= word - 1 {
				at := uint32(w*64 + bits.TrailingZeros64(word))
				if !yield(int32(at>>1) ^ -int32(at&1)) {
					return
				}
			}
		}
	}
}

// without returns the handles of s that none of the others has.
func (s *idSet) without(others ...*idSet) (rest []int32) {
	for handle := range s.all() {
		if !slices.ContainsFunc(others, func(o *idSet) bool { return o.has(handle) }) {
			rest = append(rest, handle)
		}
	}
	return rest
}

// within tells whether all of s is in one of the others.
func (s *idSet) within(others ...*idSet) bool { return len(s.without(others...)) == 0 }

// nodeOrder is the order of the nodes.
type nodeOrder struct {
	nodes  int
	first  int32   // the id of node 0, if the ids count from there
	ids    []int32 // the handle of each node; nil: the ids count from first
	set    *idSet  // of ids
	before []int32 // handles of the set before each of its words
	place  []int32 // the node of each handle of the set, as all visits them; −1: none
}

// newOrder is the order of a list of handles, all of a set. Nothing may be added to the set later.
func newOrder(set *idSet, handles []int32) *nodeOrder {
	o := &nodeOrder{
		nodes:  len(handles),
		ids:    handles,
		set:    set,
		before: make([]int32, len(set.bits)+1),
		place:  slices.Repeat([]int32{-1}, set.count),
	}
	for w, word := range set.bits {
		o.before[w+1] = o.before[w] + int32(bits.OnesCount64(word))
	}
	for node, h := range handles {
		o.place[o.rank(h)] = int32(node)
	}
	return o
}

// rank returns the number of handles of the set that all visits before one of them.
func (o *nodeOrder) rank(handle int32) int32 {
	word, bit := place(handle)
	return o.before[word] + int32(bits.OnesCount64(o.set.bits[word]&(bit-1)))
}

// node returns the node of an id, −1 if it has none.
func (o *nodeOrder) node(handle int32) int32 {
	if o.ids == nil {
		if node := handle - o.first; uint32(node) < uint32(o.nodes) {
			return node
		}
	} else if o.set.has(handle) {
		return o.place[o.rank(handle)]
	}
	return -1
}

// id returns the handle of a node.
func (o *nodeOrder) id(node int) int32 {
	if o.ids == nil {
		return int32(node) + o.first
	}
	return o.ids[node]
}

// nodeNames returns the ids of the nodes, nil if each is the node's number.
func (o *nodeOrder) nodeNames(ids *nodeIDs) *graph.Names {
	own := o.first == 0
	for node, h := range o.ids {
		own = own && int(h) == node
	}
	if own {
		return nil
	}
	names := new(graph.Names)
	for node := range o.nodes {
		names.Append(ids.text(o.id(node)))
	}
	return names
}

// isNumber tells whether an id is a whole number in its usual form.
func isNumber[T []byte | string](id T) bool {
	for k := range len(id) {
		if id[k] < '0' || id[k] > '9' {
			return false
		}
	}
	return len(id) == 1 || len(id) > 0 && id[0] != '0'
}

// ascending is the order of a set's ids: by value if all are numbers, as numbers says, else by text.
func (n *nodeIDs) ascending(set *idSet, numbers bool) *nodeOrder {
	handles := slices.Collect(set.all())
	if nodes := len(handles); !numbers || slices.ContainsFunc(handles, func(h int32) bool { return h < 0 }) {
		texts := make([]string, nodes)
		for k, h := range handles {
			texts[k] = n.text(h)
		}
		slices.SortFunc(texts, func(a, b string) int {
			if numbers && len(a) != len(b) {
				return cmp.Compare(len(a), len(b))
			}
			return strings.Compare(a, b)
		})
		for k, text := range texts {
			handles[k], _ = n.find([]byte(text))
		}
	} else if nodes > 0 && handles[0] <= 1 && int(handles[nodes-1]-handles[0]) == nodes-1 {
		return &nodeOrder{nodes: nodes, first: handles[0]}
	}
	return newOrder(set, handles)
}

// odd returns the ids of a set that are no numbers or, as every says, all.
func (n *nodeIDs) odd(set *idSet, every bool) []int32 {
	return slices.DeleteFunc(slices.Collect(set.all()), func(h int32) bool { return !every && (h >= 0 || isNumber(n.text(h))) })
}
