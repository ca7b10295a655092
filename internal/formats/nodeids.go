package formats

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/table"
)

// nodeIDs gives each id in the files of one data set a handle. An id is a text. The handle of a
// whole number from 0, in its usual form, is the number; other ids have the handles −1, −2, …
// as they appear.
type nodeIDs struct {
	names graph.Names // the id of handle −1−k
	slots []idSlot    // of a hash table with open addressing
	seed  maphash.Seed
	tally memory.Tally
}

// idSlot holds an id: its hash, its handle, 0 in a free slot, and where its text is.
type idSlot struct {
	hash   uint32
	handle int32
	place  uint64 // the beginning in the texts, times 2²⁴, plus the length
}

func newNodeIDs(path string) nodeIDs {
	return nodeIDs{seed: maphash.MakeSeed(), tally: table.NewTally(path)}
}

// smallNumbers bounds the numbers that are their own handles: a set has a bit for each below its
// largest one. Larger ones are kept as texts.
const smallNumbers = 1 << 28

// numberID returns a whole number from 0 below smallNumbers, without leading zeros.
func numberID(id []byte) (int32, bool) {
	if len(id) > 1 && id[0] == '0' {
		return 0, false
	}
	number, ok := parseID(id)
	return number, ok && number < smallNumbers
}

// hashOf returns the hash of an id that is no number.
func (n *nodeIDs) hashOf(id []byte) uint32 { return uint32(maphash.Bytes(n.seed, id)) }

// slot returns the place of an id in slots, or of the free slot where it belongs.
func (n *nodeIDs) slot(id []byte, hash uint32) int {
	for k := int(hash) & (len(n.slots) - 1); ; k = (k + 1) & (len(n.slots) - 1) {
		s := &n.slots[k]
		if s.handle == 0 {
			return k
		}
		if from, length := s.place>>24, s.place&(1<<24-1); s.hash == hash && string(n.names.Text[from:from+length]) == string(id) {
			return k
		}
	}
}

// find returns the handle of an id, if it has one.
func (n *nodeIDs) find(id []byte) (handle int32, known bool) {
	number, ok := numberID(id)
	if ok || len(n.slots) == 0 {
		return number, ok
	}
	handle = n.slots[n.slot(id, n.hashOf(id))].handle
	return handle, handle != 0
}

// handle returns the handle of an id, a new one if it has none.
func (n *nodeIDs) handle(id []byte) (int32, error) {
	if number, ok := numberID(id); ok {
		return number, nil
	}
	return n.hashed(id, n.hashOf(id))
}

// hashed is handle for an id that is no number.
func (n *nodeIDs) hashed(id []byte, hash uint32) (int32, error) {
	if 2*n.names.Len() >= len(n.slots) {
		old := n.slots
		n.slots = make([]idSlot, max(2*len(old), 1<<10))
		for _, s := range old {
			k := int(s.hash) & (len(n.slots) - 1)
			for ; s.handle != 0 && n.slots[k].handle != 0; k = (k + 1) & (len(n.slots) - 1) {
			}
			if s.handle != 0 {
				n.slots[k] = s
			}
		}
	}
	s := &n.slots[n.slot(id, hash)]
	if s.handle != 0 {
		return s.handle, nil
	}
	*s = idSlot{hash, ^int32(n.names.Len()), uint64(len(n.names.Text))<<24 | uint64(len(id))}
	n.names.Text = append(n.names.Text, id...)
	n.names.Ends = append(n.names.Ends, int64(len(n.names.Text)))
	const entry, growth = 160, 3 // bytes in growing slices, and in the order of the names; bytes for each of the text
	return s.handle, n.tally.Add(entry + growth*int64(len(id)))
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
	text := ""
	for k, h := range handles[:min(len(handles), 3)] {
		if k > 0 {
			text += ", "
		}
		text += n.quoted(h)
	}
	if len(handles) > 3 {
		text += ", …"
	}
	return text
}

// localID is an id that is no number, in a block of lines.
type localID struct {
	text []byte
	hash uint32
}

// localIDs gives the ids in one block of lines handles of their own, for those that are no
// numbers. An id that follows itself in its column has one handle.
type localIDs struct {
	ids  []localID
	room int      // ids that the block may have
	last [2]int32 // the handle of each column's last id that is no number; 0: none
}

func (l *localIDs) handle(n *nodeIDs, column int, id []byte) int32 {
	if number, ok := numberID(id); ok {
		return number
	}
	if last := l.last[column]; last < 0 && string(l.ids[^last].text) == string(id) {
		return last
	}
	h := ^int32(len(l.ids))
	if l.ids == nil {
		l.ids = make([]localID, 0, l.room)
	}
	l.ids = append(l.ids, localID{id, n.hashOf(id)})
	l.last[column] = h
	return h
}

// idSet is a set of handles.
type idSet struct {
	bits   []uint64 // of numbers and of other ids in turn, see place
	before []int32  // handles of the set before each word: see rank
	count  int
}

// place returns the bit of a handle: 2k for the number k, 2k+1 for the other id k.
func place(handle int32) uint32 { return uint32(handle<<1 ^ handle>>31) }

// add adds a handle, and tells whether it is new.
func (s *idSet) add(handle int32) bool {
	if s.has(handle) {
		return false
	}
	word := int(place(handle) / 64)
	if word >= len(s.bits) {
		s.bits = append(s.bits, make([]uint64, word+1-len(s.bits))...)
	}
	s.bits[word] |= 1 << (place(handle) % 64)
	s.count++
	return true
}

// addEnds adds the ends of edges.
func (s *idSet) addEnds(arcs []graph.Edge) {
	for _, a := range arcs {
		s.add(a.U)
		s.add(a.V)
	}
}

func (s *idSet) has(handle int32) bool {
	at := place(handle)
	return int(at/64) < len(s.bits) && s.bits[at/64]>>(at%64)&1 != 0
}

// rank returns the number of handles of the set that each visits before a handle of it. No handle
// may be added after the first call.
func (s *idSet) rank(handle int32) int32 {
	if s.before == nil {
		s.before = make([]int32, len(s.bits)+1)
		for w, word := range s.bits {
			s.before[w+1] = s.before[w] + int32(bits.OnesCount64(word))
		}
	}
	at := place(handle)
	return s.before[at/64] + int32(bits.OnesCount64(s.bits[at/64]&(1<<(at%64)-1)))
}

// each calls visit with each handle, numbers in ascending order, until visit is false.
func (s *idSet) each(visit func(handle int32) bool) {
	for w, word := range s.bits {
		for ; word != 0; word &= word - 1 {
			at := uint32(w*64 + bits.TrailingZeros64(word))
			if !visit(int32(at>>1) ^ -int32(at&1)) {
				return
			}
		}
	}
}

// without returns the handles of s that none of the others has.
func (s *idSet) without(others ...*idSet) (rest []int32) {
	s.each(func(handle int32) bool {
		if !slices.ContainsFunc(others, func(o *idSet) bool { return o.has(handle) }) {
			rest = append(rest, handle)
		}
		return true
	})
	return rest
}

// within tells whether all of s is in one of the others.
func (s *idSet) within(others ...*idSet) bool { return len(s.without(others...)) == 0 }

// nodeOrder is the order of the nodes.
type nodeOrder struct {
	nodes int
	first int32 // the id of node 0, if the ids count from there
	set   *idSet
	ids   []int32 // the handle of each node; nil: the ids count from first
	place []int32 // the node of each id of the set, by its rank
}

// newOrder is the order of a list of all handles of a set.
func newOrder(set *idSet, handles []int32) *nodeOrder {
	o := &nodeOrder{nodes: len(handles), set: set, ids: handles, place: make([]int32, set.count)}
	for node, h := range handles {
		o.place[set.rank(h)] = int32(node)
	}
	return o
}

// node returns the node of an id that has one.
func (o *nodeOrder) node(handle int32) int32 {
	if o.ids == nil {
		return handle - o.first
	}
	return o.place[o.set.rank(handle)]
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
	if o.ids == nil && o.first == 0 {
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
	var handles, others []int32
	set.each(func(handle int32) bool {
		if handle >= 0 && numbers {
			handles = append(handles, handle)
		} else {
			others = append(others, handle)
		}
		return true
	})
	if n := len(handles); len(others) == 0 && n > 0 && handles[0] <= 1 && int(handles[n-1]-handles[0]) == n-1 {
		return &nodeOrder{nodes: n, first: handles[0]}
	}
	type named struct {
		start  [8]byte // the first bytes behind those that all names share: they decide most comparisons
		text   string
		handle int32
	}
	all, shared := make([]named, len(others)), 0
	for k, h := range others {
		all[k] = named{text: n.text(h), handle: h}
	}
	byText := func(a, b named) int {
		if numbers && len(a.text) != len(b.text) {
			return cmp.Compare(len(a.text), len(b.text))
		}
		return strings.Compare(a.text, b.text)
	}
	if len(all) > 0 && !numbers {
		least, most := slices.MinFunc(all, byText).text, slices.MaxFunc(all, byText).text
		for shared < min(len(least), len(most)) && least[shared] == most[shared] {
			shared++
		}
		for k := range all {
			copy(all[k].start[:], all[k].text[shared:])
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		if a.start != b.start {
			return bytes.Compare(a.start[:], b.start[:])
		}
		return byText(a, b)
	})
	for _, of := range all {
		handles = append(handles, of.handle)
	}
	return newOrder(set, handles)
}

// numbersOnly tells whether all ids of a set are numbers.
func (n *nodeIDs) numbersOnly(set *idSet) bool {
	only := true
	set.each(func(handle int32) bool {
		only = only && (handle >= 0 || isNumber(n.text(handle)))
		return only
	})
	return only
}
