package blas

import (
	"runtime"

	gblas "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Gonum returns the pure Go implementation, which works everywhere. It cuts C
// into tiles of its own, for any number of cores.
func Gonum() BLAS { return pure{} }

type pure struct{}

func (pure) Name() string { return "gonum" }
func (pure) Threads() int { return runtime.GOMAXPROCS(0) }

func (pure) Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	checkSgemm(transA, transB, m, n, k, a, lda, b, ldb, c, ldc)
	if m == 0 || n == 0 {
		return
	}
	gonum.Implementation{}.Sgemm(flag(transA), flag(transB), m,
		n, k, alpha, a, lda, b, ldb, beta, c, ldc)
}

func flag(trans bool) gblas.Transpose {
	if trans {
		return gblas.Trans
	}
	return gblas.NoTrans
}
