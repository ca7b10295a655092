package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
)

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for k := range want {
		if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
			t.Fatalf("%s: element %d is %v, want %v", what, k, got[k], want[k])
		}
	}
}

// halves returns random halves, subnormal ones and zeros among them, and the
// numbers they are.
func halves(random *rand.Rand, n int) (x []uint16, wide []float32) {
	x, wide = make([]uint16, n), make([]float32, n)
	for k := range x {
		for {
			x[k] = uint16(random.Uint32())
			if random.IntN(8) == 0 {
				x[k] &= 0x83ff
			}
			if x[k]&0x7c00 != 0x7c00 {
				break
			}
		}
		wide[k] = half.Float32(x[k])
	}
	return x, wide
}

func TestWidenEveryHalf(t *testing.T) {
	levels(t, func(t *testing.T) {
		var src []uint16
		var want []float32
		for h := range 1 << 16 {
			if v := half.Float32(uint16(h)); v == v { // of NaNs the bits may differ
				src, want = append(src, uint16(h)), append(want, v)
			}
		}
		for n := range 40 { // ragged ends
			dst, intact := guarded(n)
			widen(dst, src[1000:1000+n])
			sameBits(t, "part", dst, want[1000:1000+n])
			if !intact() {
				t.Fatalf("%d elements: wrote outside", n)
			}
		}
		dst, intact := guarded(len(src))
		widen(dst, src)
		sameBits(t, "all", dst, want)
		if !intact() {
			t.Error("wrote outside")
		}
	})
}

func TestGatherHalf(t *testing.T) {
	levels(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		for _, width := range []int{1, 7, 16, 100, 129} {
			const rows = 300
			x, wide := halves(random, rows*width)
			ids := make([]int32, 1000)
			for k := range ids {
				ids[k] = random.Int32N(rows)
			}
			want := make([]float32, len(ids)*width)
			Gather(want, wide, ids, width)
			dst, intact := guarded(len(want))
			gather(dst, x, ids, width, widen)
			sameBits(t, "rows", dst, want)
			if !intact() {
				t.Error("wrote outside")
			}
		}
	})
}

// TestPropagateRowsHalf compares with single precision, rows of more entries
// than are multiplied at a time among them.
func TestPropagateRowsHalf(t *testing.T) {
	levels(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(3, 4))
		for _, weight := range []float32{1, 0.5} {
			const n = 1500
			b, err := graph.NewBuilder(n)
			if err != nil {
				t.Fatal(err)
			}
			for range 4 * n {
				if err := b.AddWeighted(random.Int32N(n), random.Int32N(n), weight); err != nil {
					t.Fatal(err)
				}
			}
			for j := range int32(n) { // a hub
				if err := b.AddWeighted(5, j, weight); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := b.Build()
			p := graph.NewLaplacian(a)
			for _, width := range []int{1, 16, 60, 602} {
				x, wide := halves(random, n*width)
				for _, rows := range [][]int32{nil, {5, 0, 1499, 5}} {
					count := len(rows)
					if rows == nil {
						count = n
					}
					want := make([]float32, count*width)
					PropagateRows(want, p, rows, wide, width, nil)
					dst, intact := guarded(count * width)
					PropagateRowsHalf(dst, p, rows, x, width)
					sameBits(t, "rows", dst, want)
					if !intact() {
						t.Error("wrote outside")
					}
				}
			}
		}
	})
	t.Run("cores", func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 6))
		b, err := graph.NewBuilder(400)
		if err != nil {
			t.Fatal(err)
		}
		for range 4000 {
			if err := b.Add(random.Int32N(400), random.Int32N(400)); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := b.Build()
		p := graph.NewLaplacian(a)
		x, _ := halves(random, 400*48)
		sameOnAnyCores(t, func() []float32 {
			dst := make([]float32, 400*48)
			PropagateRowsHalf(dst, p, nil, x, 48)
			return dst
		})
	})
}

func BenchmarkWiden(b *testing.B) {
	x, wide := halves(rand.New(rand.NewPCG(1, 1)), 1<<15)
	b.SetBytes(int64(2 * len(x)))
	for b.Loop() {
		widen(wide, x)
	}
}
