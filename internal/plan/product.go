package plan

// Product is the size of a dense product op(A)·op(B), with op(A) M×K and op(B) K×N.
// op(X) is X, or Xᵀ if its flag is set. Lda and Ldb are the row lengths of A and B.
type Product struct {
	TransA, TransB    bool
	M, N, K, Lda, Ldb int
}
