package blas_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/blas"
)

// implementations returns the ones that this machine has.
func implementations(tb testing.TB) []blas.BLAS {
	list := []blas.BLAS{blas.Gonum()}
	if b, err := blas.Open("libopenblas.so.0"); err == nil {
		list = append(list, b)
	} else {
		tb.Logf("OpenBLAS not compared: %v", err)
	}
	return list
}

// BenchmarkSgemm measures the products of a training step (batch 512, 512 and
// 1024 nodes sampled, 128→256→40) and of inference.
func BenchmarkSgemm(b *testing.B) {
	shapes := []struct {
		name           string
		transA, transB bool
		m, n, k        int
	}{
		{"forward", false, false, 512, 256, 128},
		{"forward", false, false, 1024, 256, 1024},
		{"forward", false, false, 512, 40, 256},
		{"dW", true, false, 128, 256, 512},
		{"dW", true, false, 128, 256, 1024},
		{"dW", true, false, 256, 40, 512},
		{"dX", false, true, 512, 256, 40},
		{"dX", false, true, 512, 1024, 256},
		{"inference", false, false, 4096, 256, 128},
		{"square", false, false, 1024, 1024, 1024},
	}
	for _, impl := range implementations(b) {
		for _, s := range shapes {
			b.Run(fmt.Sprintf("impl=%.8s/%s=%dx%dx%d", impl.Name(), s.name, s.m, s.n, s.k), func(b *testing.B) {
				x, y, c := random(s.m*s.k), random(s.k*s.n), make([]float32, s.m*s.n)
				lda, ldb := s.k, s.n
				if s.transA {
					lda = s.m
				}
				if s.transB {
					ldb = s.k
				}
				b.ReportAllocs()
				for b.Loop() {
					impl.Sgemm(s.transA, s.transB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, c, s.n)
				}
				flop := 2 * float64(s.m) * float64(s.n) * float64(s.k)
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

// random returns n values in [-1, 1), the same ones each time.
func random(n int) []float32 {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*rng.Float32() - 1
	}
	return x
}
