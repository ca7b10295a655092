package cublas

import (
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/cu"
)

// Standard is the BLAS of Gorgonia's engines: the handle of the current context,
// found at each call. It has no fields, because an engine is copied while
// another goroutine initialises it. Its slices lie on the device.
type Standard struct{}

// ConsOpt is an option of Init.
type ConsOpt func(*Standard)

// WithContext tells the context that its engine has started: the engine initialises
// the Standard. Products are in the current context, which can be another.
func WithContext(c cu.Context) ConsOpt {
	return func(*Standard) {
		if c != nil {
			c.Started()
		}
	}
}

// The first error of the calls below since Err was last asked. It cannot lie in
// Standard; see there.
var failure struct {
	sync.Mutex
	err error
}

func note(err error) {
	if err == nil {
		return
	}
	failure.Lock()
	defer failure.Unlock()
	if failure.err == nil {
		failure.err = err
	}
}

// Init makes the handle, so that the first product need not.
func (s *Standard) Init(opts ...ConsOpt) error {
	for _, o := range opts {
		o(s)
	}
	if cpu() {
		return nil
	}
	_, err := Current()
	return err
}

// Err is the first error since it was last asked, of any Standard in the
// process.
func (s *Standard) Err() error {
	failure.Lock()
	defer failure.Unlock()
	err := failure.err
	failure.err = nil
	return err
}

// Close does nothing: the handle belongs to the context.
func (s *Standard) Close() error { return nil }

func on(do func(*Handle) error) {
	h, err := Current()
	if err == nil {
		err = do(h)
	}
	note(err)
}

// cpu tells whether products are computed on the CPU: Gorgonia's machine runs there
// where there is no GPU.
func cpu() bool {
	c, err := cu.CurrentContext()
	return err == nil && !c.Device().IsGPU()
}

// native computes products of matrices by rows. A matrix by columns is the transpose
// of the same numbers by rows, so factors and sizes are exchanged.
var native gonum.Implementation

func opposite(t blas.Transpose) blas.Transpose {
	if t == blas.NoTrans {
		return blas.Trans
	}
	return blas.NoTrans
}

func at[E any](s []E) cu.DevicePtr { return cu.DevicePtr(unsafe.Pointer(unsafe.SliceData(s))) }

func trans(t blas.Transpose) T { return t != blas.NoTrans }

func (s *Standard) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	if cpu() {
		native.Sgemm(tB, tA, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc)
		return
	}
	on(func(h *Handle) error {
		return h.Sgemm(trans(tA), trans(tB), m, n, k, alpha, at(a), lda, at(b), ldb, beta, at(c), ldc)
	})
}

func (s *Standard) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if cpu() {
		native.Dgemm(tB, tA, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc)
		return
	}
	on(func(h *Handle) error {
		return h.Dgemm(trans(tA), trans(tB), m, n, k, alpha, at(a), lda, at(b), ldb, beta, at(c), ldc)
	})
}

func (s *Standard) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	if cpu() {
		native.Sgemv(opposite(tA), n, m, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	on(func(h *Handle) error {
		return h.Sgemv(trans(tA), m, n, alpha, at(a), lda, at(x), incX, beta, at(y), incY)
	})
}

func (s *Standard) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	if cpu() {
		native.Dgemv(opposite(tA), n, m, alpha, a, lda, x, incX, beta, y, incY)
		return
	}
	on(func(h *Handle) error {
		return h.Dgemv(trans(tA), m, n, alpha, at(a), lda, at(x), incX, beta, at(y), incY)
	})
}

func (s *Standard) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	if cpu() {
		native.Sger(n, m, alpha, y, incY, x, incX, a, lda)
		return
	}
	on(func(h *Handle) error { return h.Sger(m, n, alpha, at(x), incX, at(y), incY, at(a), lda) })
}

func (s *Standard) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	if cpu() {
		native.Dger(n, m, alpha, y, incY, x, incX, a, lda)
		return
	}
	on(func(h *Handle) error { return h.Dger(m, n, alpha, at(x), incX, at(y), incY, at(a), lda) })
}
