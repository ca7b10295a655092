package samplers

// nodeSet is a set of nodes, one bit per node of the graph. It is smaller than
// a numbering and so fits into a cache. It is for rows with few columns in the
// set. One call at a time may use it.
type nodeSet struct{ bits []uint64 }

// fill puts nodes into the empty set, of a graph of n nodes. The caller must call
// clear with the same nodes afterwards.
func (s *nodeSet) fill(n int, nodes []int32) {
	if words := (n + 63) / 64; len(s.bits) != words {
		s.bits = make([]uint64, words)
	}
	for _, i := range nodes {
		s.bits[uint32(i)/64] |= 1 << (uint32(i) % 64)
	}
}

// clear empties the set. Cost: O(len(nodes)).
func (s *nodeSet) clear(nodes []int32) {
	for _, i := range nodes {
		s.bits[uint32(i)/64] = 0
	}
}

// has reports whether node is in the set.
func (s *nodeSet) has(node int32) bool {
	return s.bits[uint32(node)/64]>>(uint32(node)%64)&1 != 0
}
