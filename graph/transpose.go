package graph

import "sync"

// TransposeInto writes mᵀ to t, in the memory of t's slices if they are large enough.
// The entries of a row of mᵀ are in the order of their columns. m must be valid
// except for its values: a column out of range panics. Cost: O(Rows + Cols + NNZ), and
// for a large m some 15 MiB of scratch memory.
func (m *CSR) TransposeInto(t *CSR) {
	nnz := int(m.NNZ())
	t.Rows, t.Cols = m.Cols, m.Rows
	t.Ptr = resize(t.Ptr, m.Cols+1)
	t.Idx = resize(t.Idx, nnz)
	if m.Val == nil {
		t.Val = nil
	} else {
		t.Val = resize(t.Val, nnz)
	}
	ptr := t.Ptr[:m.Cols]
	clear(ptr)
	for _, j := range m.Idx[:nnz] {
		ptr[j]++
	}
	// ptr[j] becomes the end of row j; filling backward moves it to the start.
	var sum int64
	for j := range ptr {
		sum += ptr[j]
		ptr[j] = sum
	}
	t.Ptr[m.Cols] = sum
	if nnz > groupedEntries {
		m.fillGrouped(t)
		return
	}
	for i := m.Rows - 1; i >= 0; i-- {
		for k := m.Ptr[i+1] - 1; k >= m.Ptr[i]; k-- {
			j := m.Idx[k]
			ptr[j]--
			t.Idx[ptr[j]] = int32(i)
			if m.Val != nil {
				t.Val[ptr[j]] = m.Val[k]
			}
		}
	}
}

const (
	groupedEntries = 1 << 20 // that are grouped at a time
	groupShift     = 9       // a group has 512 columns
)

// entry is one entry of a matrix.
type entry struct {
	row, column int32
	value       float32
}

// grouping is the scratch memory of fillGrouped.
type grouping struct {
	next    []int   // for each group, the index in entries of its next one
	entries []entry // of some rows, group by group
}

var groupings = sync.Pool{New: func() any { return new(grouping) }}

// fillGrouped fills the rows of t = mᵀ, which end at t.Ptr, backward. Entries of a matrix that
// is larger than the caches go to places all over t. So some rows of m at a time are grouped by
// columns that are near, whose places are near too.
func (m *CSR) fillGrouped(t *CSR) {
	ptr := t.Ptr[:m.Cols]
	scratch := groupings.Get().(*grouping)
	defer groupings.Put(scratch)
	scratch.next = resize(scratch.next, m.Cols>>groupShift+1)
	next := scratch.next
	for hi := m.Rows; hi > 0; {
		lo := hi - 1
		for lo > 0 && m.Ptr[hi]-m.Ptr[lo-1] <= groupedEntries {
			lo--
		}
		columns := m.Idx[m.Ptr[lo]:m.Ptr[hi]]
		scratch.entries = resize(scratch.entries, len(columns))
		entries := scratch.entries
		clear(next)
		for _, j := range columns {
			next[j>>groupShift]++
		}
		at := 0
		for g, n := range next {
			next[g] = at
			at += n
		}
		for i := hi - 1; i >= lo; i-- {
			for k := m.Ptr[i+1] - 1; k >= m.Ptr[i]; k-- {
				e := entry{row: int32(i), column: m.Idx[k]}
				if m.Val != nil {
					e.value = m.Val[k]
				}
				g := e.column >> groupShift
				entries[next[g]] = e
				next[g]++
			}
		}
		for _, e := range entries {
			ptr[e.column]--
			at := ptr[e.column]
			t.Idx[at] = e.row
			if m.Val != nil {
				t.Val[at] = e.value
			}
		}
		hi = lo
	}
}

// Transpose returns mᵀ in new memory, see TransposeInto.
func (m *CSR) Transpose() *CSR {
	t := new(CSR)
	m.TransposeInto(t)
	return t
}
