package graph

import "fmt"

// ToSparse returns sparse features with the values of x that are not zero, or x itself if it
// is sparse. If all these values are 1, the result holds no values. Cost: one pass.
func (x *Features) ToSparse() *Features {
	if x.Sparse != nil {
		return x
	}
	m := &CSR{Rows: x.Rows, Cols: x.Cols, Ptr: make([]int64, 1, x.Rows+1), Val: []float32{}}
	ones := true
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v != 0 {
				m.Idx, m.Val = append(m.Idx, int32(j)), append(m.Val, v)
				ones = ones && v == 1
			}
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	if ones {
		m.Val = nil
	}
	return &Features{Rows: x.Rows, Cols: x.Cols, Sparse: m}
}

// validateSparse is Validate for sparse features.
func (x *Features) validateSparse() error {
	m := x.Sparse
	switch {
	case x.Data != nil || x.Half != nil:
		return fmt.Errorf("graph: features both dense and sparse: %w", ErrInvalid)
	case x.Cols <= 0 || m.Rows != x.Rows || m.Cols != x.Cols || m.Rest != nil || x.Share != nil:
		return fmt.Errorf("graph: features %d×%d in a sparse matrix of %d×%d: %w", x.Rows, x.Cols, m.Rows, m.Cols, ErrInvalid)
	}
	if err := m.Validate(); err != nil {
		return fmt.Errorf("graph: features: %w", err)
	}
	for i := range m.Rows {
		row := m.Row(i)
		for k := 1; k < len(row); k++ {
			if row[k-1] >= row[k] {
				return fmt.Errorf("graph: features of node %d: column %d after column %d, want ascending columns: %w", i, row[k], row[k-1], ErrInvalid)
			}
		}
	}
	return nil
}
