package plan

// Product is the size of a dense product op(A)·op(B): op(A) is M×K and op(B) K×N,
// op(X) being X or, where its flag is set, Xᵀ.
type Product struct {
	TransA, TransB bool
	M, N, K        int
}

// Lda and Ldb return the lengths of the rows of A and B.
func (p Product) Lda() int {
	if p.TransA {
		return p.M
	}
	return p.K
}

// Ldb is Lda for B.
func (p Product) Ldb() int {
	if p.TransB {
		return p.K
	}
	return p.N
}
