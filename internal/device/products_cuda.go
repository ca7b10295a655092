//go:build cuda

package device

import (
	"fmt"

	cublas "gorgonia.org/cu/blas"
)

// Sgemm sets C to op(A)·op(B) + beta·C: op(A) is m×k and op(B) k×n, op(X) being X
// or, where its flag is set, Xᵀ; lda, ldb and n are the lengths of the rows of A,
// B and C. It is in float32 throughout, not in TF32.
func (d *Device) Sgemm(transA, transB bool, m, n, k int, a Pointer, lda int, b Pointer, ldb int, beta float32, c Pointer) error {
	// cuBLAS knows columns first, so it computes Cᵀ = op(B)ᵀ·op(A)ᵀ.
	if err := d.blas.Sgemm(cublas.T(transB), cublas.T(transA), n, m, k, 1, b, ldb, a, lda, beta, c, n); err != nil {
		return fmt.Errorf("device: product of %d×%d and %d×%d: %w", m, k, k, n, err)
	}
	return nil
}
