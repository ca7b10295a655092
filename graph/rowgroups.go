package graph

// rowGroups holds entries of a matrix before they are sorted. A group is 1<<shift rows. Its entries
// lie together, so that processors write to a few places.
type rowGroups struct {
	shift   int
	next    []int64         // the place of the next entry of each group
	columns []int32         // of each entry
	rows    []uint16        // counted in the group
	values  []float32       // nil if all are 1
	sorters chan *rowSorter // one a core; a sync.Pool would keep their memory for another collection
}

// sort sorts the entries from start to end, of a group, by rows, and by columns in a row. Of equal
// columns it keeps the first, and returns the end of those kept. It adds their number in each row to
// counts.
func (g *rowGroups) sort(start, end int64, counts []int64, columns int) int64 {
	s := <-g.sorters
	defer func() { g.sorters <- s }()
	s.keys, s.values = resize(s.keys, int(end-start)), s.values[:0]
	for k := range s.keys {
		s.keys[k] = uint64(g.rows[start+int64(k)])<<32 | uint64(g.columns[start+int64(k)])
	}
	if g.values != nil {
		s.values = append(s.values, g.values[start:end]...)
	}
	for shift := 0; (columns-1)>>shift > 0; shift += digitBits {
		s.pass(shift)
	}
	for shift := 0; shift < g.shift; shift += digitBits {
		s.pass(32 + shift)
	}
	to := start
	for k, key := range s.keys {
		if k > 0 && key == s.keys[k-1] {
			continue
		}
		if g.columns[to] = int32(key); g.values != nil {
			g.values[to] = s.values[k]
		}
		counts[key>>32]++
		to++
	}
	return to
}

// rowSorter sorts keys, each with a value if there are any, a digit a pass, from the lowest on.
type rowSorter struct {
	keys, sortedKeys     []uint64
	values, sortedValues []float32
	counts               [1 << digitBits]int
}

const digitBits = 11 // the counts fit in the first cache

// pass sorts by the digit from bit shift on. Keys with the same digit keep their order.
func (s *rowSorter) pass(shift int) {
	clear(s.counts[:])
	for _, key := range s.keys {
		s.counts[key>>shift%uint64(len(s.counts))]++
	}
	sum := 0
	for digit, n := range s.counts {
		s.counts[digit] = sum
		sum += n
	}
	s.sortedKeys, s.sortedValues = resize(s.sortedKeys, len(s.keys)), resize(s.sortedValues, len(s.values))
	for k, key := range s.keys {
		next := &s.counts[key>>shift%uint64(len(s.counts))]
		if s.sortedKeys[*next] = key; len(s.values) > 0 {
			s.sortedValues[*next] = s.values[k]
		}
		*next++
	}
	s.keys, s.sortedKeys = s.sortedKeys, s.keys
	s.values, s.sortedValues = s.sortedValues, s.values
}
