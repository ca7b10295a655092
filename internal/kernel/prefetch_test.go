package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A prefetch reads nothing outside its argument and changes nothing.
func TestPrefetch(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 1000} {
		x := random(n, 1)
		before := slices.Clone(x)
		ids := make([]int32, n)
		for k := range ids {
			ids[k] = int32(n - 1 - k)
		}
		Prefetch(x, ids)
		PrefetchSlice(x)
		PrefetchSlice(ids)
		if !slices.Equal(x, before) {
			t.Fatalf("%d values changed", n)
		}
	}
	Prefetch([]float32(nil), []int32{0})
}

// Rows of a matrix that is prefetched are gathered as those of a small one.
func TestGatherFar(t *testing.T) {
	const width, n = 3, 5 * aheadRows
	rows := farValues/width + 1
	x, half := make([]float32, rows*width), make([]uint16, rows*width)
	ids := make([]int32, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for k := range ids {
		ids[k] = int32(rng.IntN(rows))
		x[int(ids[k])*width+1] = float32(ids[k])
		half[int(ids[k])*width] = 0x3c00 // 1
	}
	ids[0], ids[n-1] = 0, int32(rows-1)
	x[1], x[(rows-1)*width+1] = 0, float32(rows-1)
	half[0], half[(rows-1)*width] = 0x3c00, 0x3c00
	got, wide := make([]float32, n*width), make([]float32, n*width)
	Gather(got, x, ids, width)
	gather(wide, half, ids, width, widen)
	for k, i := range ids {
		if got[k*width+1] != float32(i) || wide[k*width] != 1 {
			t.Fatalf("row %d: %v and %v, want row %d of x", k, got[k*width:][:width], wide[k*width:][:width], i)
		}
	}
}

// BenchmarkGather is with rows of a matrix that is larger than the caches.
func BenchmarkGather(b *testing.B) {
	for _, width := range []int{64, 128, 256} {
		x := random((1<<27)/width*width, 1)
		ids, dst := make([]int32, 20000), make([]float32, 20000*width)
		rng := rand.New(rand.NewPCG(1, 2))
		b.Run(fmt.Sprintf("f=%d", width), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				for k := range ids {
					ids[k] = rng.Int32N(int32(len(x) / width))
				}
				b.StartTimer()
				Gather(dst, x, ids, width)
			}
			perSecond(b, len(dst), 4)
		})
	}
}
