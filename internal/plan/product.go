package plan

// Product is the size of a dense product op(A)·op(B), with op(A) M×K and op(B) K×N.
// op(X) is X, or Xᵀ if its flag is set.
type Product struct {
	TransA, TransB bool
	M, N, K        int
}

// Lda returns the row length of A.
func (p Product) Lda() int {
	if p.TransA {
		return p.M
	}
	return p.K
}

// Ldb returns the row length of B.
func (p Product) Ldb() int {
	if p.TransB {
		return p.K
	}
	return p.N
}
