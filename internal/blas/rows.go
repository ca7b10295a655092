package blas

import "fmt"

// RowBLAS is a BLAS that leaves rows out of products without moving the others
// together and apart again.
type RowBLAS interface {
	BLAS

	// SgemmRows computes rows of C = A·op(B) + scale⊗bias, where A is m×k, C m×n
	// and op(B) k×n, op(B) being B or Bᵀ, and k at least 1. rows lists them, each in [0, m) and at most
	// once; nil means all. Other rows of A are not read, and other rows of C stay as
	// they are. bias, of length n, may be nil for none, and scale, of length m, for 1. An
	// element's bits do not depend on which other rows are computed. It panics
	// as Sgemm does.
	SgemmRows(rows []int32, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, bias, scale, c []float32, ldc int)

	// SgemmOver sets C, m×n, to Aᵀ·B summed over the given rows, at least one, each in
	// [0, stored), of A, stored×m, and B, stored×n. It panics as Sgemm does.
	SgemmOver(over []int32, stored, m, n int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int)
}

// checkRows panics unless the arguments of SgemmRows fit together.
func checkRows(rows []int32, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, bias, scale, c []float32, ldc int) {
	checkSgemm(false, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if bias != nil && len(bias) < n || scale != nil && len(scale) < m {
		panic(fmt.Sprintf("blas: SgemmRows: bias of %d and scale of %d for a product of %d×%d, with k = %d", len(bias), len(scale), m, n, k))
	}
	checkList("SgemmRows", rows, m)
}

// checkOver panics unless the arguments of SgemmOver fit together.
func checkOver(over []int32, stored, m, n int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	checkSgemm(true, false, m, n, stored, a, lda, b, ldb, c, ldc)
	checkList("SgemmOver", over, stored)
}

func checkList(what string, rows []int32, n int) {
	for k, r := range rows {
		if r < 0 || int(r) >= n {
			panic(fmt.Sprintf("blas: %s: row %d of the list is %d, outside [0, %d)", what, k, r, n))
		}
	}
}
