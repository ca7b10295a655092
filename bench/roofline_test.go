// Package bench measures the kernels against the machine's own ceilings in the
// same process: a stream over memory, and a large dense product.
package bench

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// best returns the seconds of the fastest of some calls.
func best(calls int, f func()) float64 {
	least := time.Duration(1 << 62)
	for range calls {
		start := time.Now()
		f()
		least = min(least, time.Since(start))
	}
	return least.Seconds()
}

// stream returns the bandwidth of z = x·y over arrays far larger than cache, in
// bytes read and written a second.
func stream() float64 {
	const n = 1 << 25
	x, y, z := values(n), values(n), make([]float32, n)
	return 12 * n / best(12, func() { kernel.Multiply(z, x, y) })
}

// dense returns the operations a second of the best of some dense products.
func dense(b *testing.B) float64 {
	backend, err := blas.Default()
	if err != nil {
		b.Fatal(err)
	}
	rate := 0.0
	for _, s := range [][3]int{{512, 256, 256}, {4096, 256, 128}, {1024, 1024, 1024}} {
		m, n, k := s[0], s[1], s[2]
		x, y, z := values(m*k), values(k*n), make([]float32, m*n)
		seconds := best(30, func() { backend.Sgemm(false, false, m, n, k, 1, x, k, y, n, 0, z, n) })
		rate = max(rate, 2*float64(m)*float64(n)*float64(k)/seconds)
	}
	return rate
}

func values(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i%17) - 8
	}
	return x
}

// random returns a matrix of about degree entries a row, anywhere.
func random(rows, cols, degree int) *graph.CSR {
	rng := rand.New(rand.NewPCG(5, uint64(rows)))
	a := &graph.CSR{Rows: rows, Cols: cols, Ptr: make([]int64, rows+1)}
	for i := range rows {
		for range rng.IntN(2*degree + 1) {
			a.Idx = append(a.Idx, int32(rng.IntN(cols)))
			a.Val = append(a.Val, rng.Float32())
		}
		a.Ptr[i+1] = int64(len(a.Idx))
	}
	return a
}

// BenchmarkRoofline reports each product's GFLOP/s and GB/s, and its share of
// the ceiling: %stream, of the stream's bandwidth, and %dense, of the dense
// product's rate. Bytes count the rows of X that are read, with their indices and
// values, and the rows that are written; a row that is still in
// cache from an entry before counts too, so %stream may exceed 100.
func BenchmarkRoofline(b *testing.B) {
	bandwidth, rate := stream(), dense(b)
	b.Logf("%d cores: stream %.1f GB/s, dense product %.0f GFLOP/s", runtime.GOMAXPROCS(0), bandwidth/1e9, rate/1e9)
	for _, s := range []struct {
		what               string
		rows, cols, degree int
		widths             []int
	}{
		{"block", 512, 512, 2, []int{40, 64, 128, 256, 512, 1024}},
		{"full-neighborhood", 512, 1024, 14, []int{40, 64, 128, 256, 512, 1024}},
		{"graph", 170000, 170000, 14, []int{8, 40, 64, 128, 256}},
	} {
		a := random(s.rows, s.cols, s.degree)
		for _, width := range s.widths {
			b.Run(fmt.Sprintf("SpMM/%s/f=%d", s.what, width), func(b *testing.B) {
				x, y := values(s.cols*width), make([]float32, s.rows*width)
				for b.Loop() {
					kernel.SpMM(y, a, x, width)
				}
				seconds := b.Elapsed().Seconds() / float64(b.N)
				flops := 2 * float64(a.NNZ()) * float64(width)
				bytes := 4*float64(width)*float64(a.NNZ()+int64(s.rows)) + 8*float64(a.NNZ()) + 8*float64(s.rows)
				b.ReportMetric(flops/seconds/1e9, "GFLOP/s")
				b.ReportMetric(bytes/seconds/1e9, "GB/s")
				b.ReportMetric(100*bytes/seconds/bandwidth, "%stream")
				b.ReportMetric(100*flops/seconds/rate, "%dense")
			})
		}
	}
}
