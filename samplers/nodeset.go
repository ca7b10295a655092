package samplers

// nodeSet is a set of nodes with a bit for each of the graph: small enough to lie
// in a cache where the cells of a numbering do not, for rows most of whose
// columns are not in the set. One belongs to one worker.
type nodeSet struct{ bits []uint64 }

// fill makes the set hold nodes, of a graph of n nodes. It must be empty; clear
// must follow with the same nodes.
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
