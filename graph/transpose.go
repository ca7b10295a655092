package graph

// TransposeInto writes mᵀ to t, in the memory of t's slices if they are large enough.
// The entries of a row of mᵀ are in the order of their columns. m must be valid
// except for its values: a column out of range panics. Cost: O(Rows + Cols + NNZ).
func (m *CSR) TransposeInto(t *CSR) {
	nnz := int(m.NNZ())
	t.Rows, t.Cols = m.Cols, m.Rows
	t.Ptr = resize(t.Ptr, m.Cols+1)
	t.Idx = resize(t.Idx, nnz)
	if t.Val = resize(t.Val, len(m.Val)); m.Val == nil {
		t.Val = nil
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

// Transpose returns mᵀ in new memory, see TransposeInto.
func (m *CSR) Transpose() *CSR {
	t := new(CSR)
	m.TransposeInto(t)
	return t
}
