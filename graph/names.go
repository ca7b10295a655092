package graph

import (
	"cmp"
	"fmt"
	"strconv"
)

// Names holds many names, such as the ids that a source gives its nodes, in two pieces
// of memory, which may lie in a mapped file. The zero value and nil hold none. It is
// read-only in use and safe for concurrent reading.
type Names struct {
	Text []byte  // all names, one after another
	Ends []int64 // the end of each name in Text
}

// Len returns the number of names, 0 for nil.
func (n *Names) Len() int {
	if n == nil {
		return 0
	}
	return len(n.Ends)
}

// At returns name i, or the number i if n is nil: nodes without names are numbered.
// The string is a copy.
func (n *Names) At(i int) string {
	if n == nil {
		return strconv.Itoa(i)
	}
	from := int64(0)
	if i > 0 {
		from = n.Ends[i-1]
	}
	return string(n.Text[from:n.Ends[i]])
}

// Append adds a name, which gets the number Len().
func (n *Names) Append(name string) {
	n.Text = append(n.Text, name...)
	n.Ends = append(n.Ends, int64(len(n.Text)))
}

// Index returns the number of each name. Of equal names the first counts. Cost: O(Len),
// about 100 bytes of memory a name.
func (n *Names) Index() map[string]int32 {
	index := make(map[string]int32, n.Len())
	for i := n.Len() - 1; i >= 0; i-- {
		index[n.At(i)] = int32(i)
	}
	return index
}

// Bytes returns the size of the names in memory.
func (n *Names) Bytes() int64 {
	n = cmp.Or(n, new(Names))
	return int64(len(n.Text)) + 8*int64(len(n.Ends))
}

// Validate returns an error about the first fault of n: an end before the end of the
// name before it, or beyond the text, or text after the last name.
func (n *Names) Validate() error {
	n = cmp.Or(n, new(Names))
	last := int64(0)
	for i, end := range n.Ends {
		if end < last || end > int64(len(n.Text)) {
			return fmt.Errorf("graph: name %d ends at %d, outside [%d, %d]: %w", i, end, last, len(n.Text), ErrInvalid)
		}
		last = end
	}
	if last != int64(len(n.Text)) {
		return fmt.Errorf("graph: names end at %d of %d bytes: %w", last, len(n.Text), ErrInvalid)
	}
	return nil
}
