package cublas

import (
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/cu"
)

// Standard is the BLAS of Gorgonia's engines. Its products compute nothing: a run of
// Gorgonia's own machine fails when it copies their factors.
type Standard struct{}

// ConsOpt is an option of Init.
type ConsOpt func()

// WithContext tells the context that its engine has started: the engine initialises
// the Standard.
func WithContext(c cu.Context) ConsOpt { return c.Started }

// Init runs the options.
func (s *Standard) Init(opts ...ConsOpt) error {
	for _, o := range opts {
		o()
	}
	return nil
}

// Err is nil.
func (s *Standard) Err() error { return nil }

// Close does nothing.
func (s *Standard) Close() error { return nil }

func (s *Standard) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
}

func (s *Standard) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
}

func (s *Standard) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
}

func (s *Standard) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
}

func (s *Standard) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
}

func (s *Standard) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
}
