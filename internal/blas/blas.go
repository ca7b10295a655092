package blas

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// BLAS multiplies row-major matrices. Implementations are safe for concurrent
// use and keep no reference to their arguments.
type BLAS interface {
	// Name identifies the implementation and, for a library, its version.
	Name() string

	// Threads returns how many goroutines a large product is spread over now.
	Threads() int

	// Sgemm computes C = alpha·op(A)·op(B) + beta·C, where op(A) is m×k and
	// op(B) is k×n, op(X) being X or, where its flag is set, Xᵀ, and k at least 1.
	// lda, ldb and ldc are the distances between rows as they are stored. With beta = 0
	// the old C is not read. It panics, before writing anything, if a slice
	// is too short for its matrix or a size is not allowed.
	Sgemm(transA, transB bool, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int)
}

// Variable is the name of the environment variable that Default reads.
const Variable = "GCN_BLAS"

// Default returns the implementation that the environment variable GCN_BLAS
// asks for. It is chosen at the first call; if the variable names a library
// that cannot be used, every call returns the same error.
func Default() (BLAS, error) { return chosen() }

var chosen = sync.OnceValues(func() (BLAS, error) {
	b, err := Find(os.Getenv(Variable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return b, nil
})

// Find returns the implementation of the given name; the package's
// documentation lists them. "auto" and "" are never an error. "native" is an
// error without assembly for the processor, "library" if no library is found, and a
// path or name if that library cannot be loaded or lacks sgemm_.
func Find(name string) (BLAS, error) {
	switch name {
	case "auto", "":
		return automatic(), nil
	case "gonum":
		return Gonum(), nil
	case "native":
		if b := Native(); b != nil {
			return b, nil
		}
		return nil, errors.New("blas: native: no assembly for this processor or build")
	case "library":
		if b := firstLibrary(); b != nil {
			return b, nil
		}
		if len(libraries()) == 0 {
			return Open(name) // says why this build has none
		}
		return nil, fmt.Errorf("blas: library: none found of %s", strings.Join(libraries(), ", "))
	}
	return Open(name)
}

// automatic returns our own implementation if there is assembly for the processor: with it, a row
// has the same bits in any product. Without it, automatic returns a library, or else gonum.
func automatic() BLAS {
	if own := Native(); own != nil {
		return own
	}
	if b := firstLibrary(); b != nil {
		return b
	}
	return Gonum()
}

// firstLibrary returns the first library that can be used, or nil.
func firstLibrary() BLAS {
	for _, path := range libraries() {
		if b, err := Open(path); err == nil {
			return b
		}
	}
	return nil
}

// checkSgemm panics unless the arguments of Sgemm describe matrices that lie
// inside their slices.
func checkSgemm(transA, transB bool, m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if m < 0 || n < 0 || k < 1 {
		panic(fmt.Sprintf("blas: Sgemm of size %d×%d×%d", m, n, k))
	}
	checkMatrix("A", a, lda, m, k, transA)
	checkMatrix("B", b, ldb, k, n, transB)
	checkMatrix("C", c, ldc, m, n, false)
}

func checkMatrix(name string, x []float32, ld, rows, cols int, trans bool) {
	if trans {
		rows, cols = cols, rows
	}
	if ld < max(cols, 1) {
		panic(fmt.Sprintf("blas: Sgemm: rows of %s are %d apart but %d long", name, ld, cols))
	}
	if rows > 0 && cols > 0 && len(x) < (rows-1)*ld+cols {
		panic(fmt.Sprintf("blas: Sgemm: %s is %d×%d, rows %d apart, in a slice of %d",
			name, rows, cols, ld, len(x)))
	}
}
