package blas_test

import (
	"fmt"
	"strings"
	"testing"
)

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
			b.Run(fmt.Sprintf("impl=%s/%s=%dx%dx%d", strings.ReplaceAll(impl.Name(), " ", "-"), s.name, s.m, s.n, s.k), func(b *testing.B) {
				x, y, c := random(s.m*s.k, 1), random(s.k*s.n, 2), make([]float32, s.m*s.n)
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
