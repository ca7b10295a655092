package graph

// ToSparse returns sparse features with the values of x that are not zero, or x itself if it
// is sparse. If all these values are 1, the result holds no values. Cost: one pass.
func (x *Features) ToSparse() *Features {
	if x.Sparse != nil {
		return x
	}
	m := &CSR{
		Rows: x.Rows,
		Cols: x.Cols,
		Ptr:  make([]int64, 1, x.Rows+1),
		Val:  []float32{},
	}
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
