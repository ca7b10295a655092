package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

// levels runs f at every level that this machine has, so that the assembly and
// the portable code meet the same tests.
func levels(t *testing.T, f func(t *testing.T)) {
	best := level
	t.Cleanup(func() { level = best })
	for l := simd.Portable; l <= best; l++ {
		t.Run(l.String(), func(t *testing.T) {
			level = l
			f(t)
		})
	}
	level = best
}

// sameOnAnyCores runs f under 1, 2 and 7 processors and fails unless it returns
// the same bits.
func sameOnAnyCores(t *testing.T, f func() []float32) {
	t.Helper()
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	var first []float32
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		got := f()
		if first == nil {
			first = got
			continue
		}
		for k := range got {
			if math.Float32bits(got[k]) != math.Float32bits(first[k]) {
				t.Fatalf("element %d is %v on %d processors and %v on 1", k, got[k], procs, first[k])
			}
		}
	}
}

// guard fills the memory around a destination, to notice writes outside it.
const guard = 12345.678

// guarded returns a slice of n guard values with more of them on both sides,
// and a function that tells whether those still stand.
func guarded(n int) (s []float32, intact func() bool) {
	const margin = 40
	whole := make([]float32, n+2*margin)
	for i := range whole {
		whole[i] = guard
	}
	return whole[margin : margin+n : margin+n], func() bool {
		for i, v := range whole {
			if (i < margin || i >= margin+n) && v != guard {
				return false
			}
		}
		return true
	}
}

// random returns n normal values, the same ones for the same seed.
func random(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// near fails unless got is within tolerance·size of want, size being the
// scale of the error of a float32 sum.
func near(t interface {
	Helper()
	Fatalf(string, ...any)
}, what string, k int, got float32, want, size, tolerance float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= tolerance*(size+1e-30)) {
		t.Fatalf("%s: element %d is %v, want %v", what, k, got, want)
	}
}

// drawCSR returns a matrix with rows of uneven length, some of them empty.
func drawCSR(t *rapid.T, rows, cols int) *graph.CSR {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "matrix"), 1))
	a := &graph.CSR{Rows: rows, Cols: cols, Ptr: make([]int64, rows+1)}
	mean := rapid.IntRange(0, 12).Draw(t, "mean")
	for i := range rows {
		if cols > 0 && rng.IntN(4) > 0 {
			for range rng.IntN(2*mean + 1) {
				a.Idx = append(a.Idx, int32(rng.IntN(cols)))
				a.Val = append(a.Val, float32(rng.NormFloat64()))
			}
		}
		a.Ptr[i+1] = int64(len(a.Idx))
	}
	if rapid.Bool().Draw(t, "implicit") {
		a.Val = nil
	}
	return a
}

func drawWidth(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(1, 1024), rapid.SampledFrom([]int{64, 128, 256, 512})).Draw(t, "width")
}

// perSecond reports throughput over n elements of the given bytes each.
func perSecond(b *testing.B, n, bytes int) {
	s := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(n)*float64(bytes)/s/1e9, "GB/s")
}

// BenchmarkTriad is the yardstick of the others: a = b + 3c through Go's own
// compiler would be bound by scalar code, so it is Multiply over arrays that
// do and do not fit the caches.
func BenchmarkTriad(b *testing.B) {
	for _, n := range []int{1 << 12, 1 << 16, 1 << 20, 1 << 25} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			x, y, z := random(n, 1), random(n, 2), make([]float32, n)
			for b.Loop() {
				Multiply(z, x, y)
			}
			perSecond(b, n, 12)
		})
	}
}

// In steady state a kernel allocates at most the closure that it hands to
// parallel.For and its captured sums.
func TestKernelsAllocateLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools drop at random")
	}
	const rows, width = 2000, 128
	x, y, z := random(rows*width, 1), make([]float32, rows*width), make([]float32, rows*width)
	a := randomCSR(rows, rows, 8)
	p := graph.NewLaplacian(ring(rows))
	target, some, even := make([]int32, rows), make([]int32, rows), equal(rows)
	for name, f := range map[string]func(){
		"SpMM":           func() { SpMM(y, a, x, width) },
		"SpMMGather":     func() { SpMMGather(y, a, some, x, width) },
		"Gather":         func() { Gather(y, x, some, width) },
		"PropagateRows":  func() { PropagateRows(y, p, nil, x, width, nil) },
		"BiasRows":       func() { BiasRows(y, x, x, rows, width) },
		"ColumnSums":     func() { ColumnSums(y, x, x, rows, width) },
		"Activate":       func() { Activate(ELU, y, z, x, rows, width, Dropout{Rate: 0.5, Seed: 1}) },
		"Activate 40":    func() { Activate(ELU, y, z, x, rows, 40, Dropout{Rate: 0.5, Seed: 1}) },
		"Multiply":       func() { Multiply(y, x, x) },
		"Softmax":        func() { SoftmaxCrossEntropy(y, x, width, target, even, 0) },
		"Softmax, small": func() { SoftmaxCrossEntropy(y, x, width, target[:40], even, 0) },
		"SoftmaxGrad":    func() { SoftmaxCrossEntropyGradient(y, x, target, even, 1, width, 0) },
		"BCE":            func() { BCEWithLogits(x, x, width, even) },
		"BCEGrad":        func() { BCEWithLogitsGradient(y, x, x, width, even, 1) },
		"Adam":           func() { AdamStep(y, x, z, z, 1, Adam{0.1, 0.9, 0.999, 1e-8, 0, false, 0}) },
	} {
		if n := testing.AllocsPerRun(20, f); n > 3 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}
