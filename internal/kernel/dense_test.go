package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

func TestGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := drawWidth(t)
		x := random(30*width, 1)
		ids := rapid.SliceOfN(rapid.Int32Range(0, 29), 0, 200).Draw(t, "ids")
		dst, intact := guarded(len(ids) * width)
		Gather(dst, x, ids, width)
		for k := range dst {
			if dst[k] != x[int(ids[k/width])*width+k%width] {
				t.Fatalf("element %d is %v", k, dst[k])
			}
		}
		if !intact() {
			t.Fatal("wrote outside dst")
		}
	})
}

func TestBiasRowsAndColumnSums(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, width := rapid.IntRange(0, 60).Draw(t, "rows"), drawWidth(t)
			var scale []float32
			if rapid.Bool().Draw(t, "scaled") {
				scale = random(rows, 2)
			}
			of := func(i int) float64 {
				if scale == nil {
					return 1
				}
				return float64(scale[i])
			}
			bias, x := random(width, 3), random(rows*width, 4)
			dst, intact := guarded(rows * width)
			BiasRows(dst, bias, scale, rows, width)
			for k := range dst {
				want := of(k/width) * float64(bias[k%width])
				near(t, "BiasRows", k, dst[k], want, math.Abs(want), 1e-7)
			}
			sums, intact2 := guarded(width)
			ColumnSums(sums, x, scale, rows, width)
			for j := range sums {
				var want float64
				for i := range rows {
					want += of(i) * float64(x[i*width+j])
				}
				if sums[j] != float32(want) {
					t.Fatalf("column %d sums to %v, want %v exactly", j, sums[j], float32(want))
				}
			}
			if !intact() || !intact2() {
				t.Fatal("wrote outside dst")
			}
		})
		sameOnAnyCores(t, func() []float32 {
			sums := make([]float32, 300)
			ColumnSums(sums, random(3000*300, 1), nil, 3000, 300)
			return sums
		})
	})
}

func TestMultiply(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 300), rapid.IntRange(0, 300), rapid.IntRange(32000, 70000)).Draw(t, "n")
			a, b := random(n, 1), random(n, 2)
			dst, intact := guarded(n)
			Multiply(dst, a, b)
			for k := range dst {
				if dst[k] != a[k]*b[k] {
					t.Fatalf("element %d is %v", k, dst[k])
				}
			}
			Multiply(a, a, b)
			if !slices.Equal(a, dst) || !intact() {
				t.Fatal("in place differs, or wrote outside dst")
			}
		})
	})
}

// slowPropagate is rows of P·X in float64, from the dense P.
func slowPropagate(p *graph.Laplacian, rows []int32, x []float32, width int) (y, size []float64) {
	n := p.Nodes()
	dense := p.Dense()
	for _, r := range rows {
		for c := range width {
			var sum, mag float64
			for j := range n {
				term := dense[int(r)*n+j] * float64(x[j*width+c])
				sum += term
				mag += math.Abs(term)
			}
			y, size = append(y, sum), append(size, mag)
		}
	}
	return y, size
}

// drawLaplacian returns P of a small random graph, some nodes isolated.
func drawLaplacian(t *rapid.T) *graph.Laplacian {
	n := rapid.IntRange(1, 30).Draw(t, "nodes")
	weighted := rapid.Bool().Draw(t, "weighted")
	dense := make([]float32, n*n)
	for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
		i, j := rapid.IntRange(0, n-1).Draw(t, "i"), rapid.IntRange(0, n-1).Draw(t, "j")
		if i == j {
			continue
		}
		v := float32(1)
		if weighted {
			v = rapid.Float32Range(0.1, 3).Draw(t, "v")
		}
		dense[i*n+j], dense[j*n+i] = v, v
	}
	a := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}
	for i := range n {
		for j := range n {
			if v := dense[i*n+j]; v != 0 {
				a.Idx, a.Val = append(a.Idx, int32(j)), append(a.Val, v)
			}
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	if !weighted {
		a.Val = nil
	}
	if rapid.Bool().Draw(t, "by row") {
		return graph.NewRowLaplacian(a)
	}
	return graph.NewLaplacian(a)
}

func TestPropagateRows(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			p, width := drawLaplacian(t), rapid.IntRange(1, 140).Draw(t, "width")
			n := p.Nodes()
			x := random(n*width, 1)
			all := make([]int32, n)
			for i := range all {
				all[i] = int32(i)
			}
			check := func(what string, got []float32, rows []int32) {
				t.Helper()
				want, size := slowPropagate(p, rows, x, width)
				for k := range got {
					near(t, what, k, got[k], want[k], size[k], 2e-6)
				}
			}
			dst, intact := guarded(n * width)
			PropagateRows(dst, p, nil, x, width, nil)
			check("all rows", dst, all)

			rows := rapid.SliceOf(rapid.Int32Range(0, int32(n-1))).Draw(t, "rows")
			some, intact2 := guarded(len(rows) * width)
			PropagateRows(some, p, append([]int32{}, rows...), x, width, nil)
			check("some rows", some, rows)

			// The same with the rows of x in reverse, told by local.
			local, reversed := make([]int32, n), make([]float32, 0, n*width)
			for j := n - 1; j >= 0; j-- {
				local[j] = int32(len(reversed) / width)
				reversed = append(reversed, x[j*width:(j+1)*width]...)
			}
			again := make([]float32, len(rows)*width)
			PropagateRows(again, p, append([]int32{}, rows...), reversed, width, local)
			if !slices.Equal(again, some) {
				t.Fatal("local rows differ")
			}
			if !intact() || !intact2() {
				t.Fatal("wrote outside dst")
			}
		})
	})
}

func TestPropagateRowsIsTheSameOnAnyCores(t *testing.T) {
	a := ring(5000)
	p := graph.NewLaplacian(a)
	x := random(5000*64, 1)
	levels(t, func(t *testing.T) {
		sameOnAnyCores(t, func() []float32 {
			y := make([]float32, 5000*64)
			PropagateRows(y, p, nil, x, 64, nil)
			return y
		})
	})
}

// ring returns the adjacency of n nodes in a circle.
func ring(n int) *graph.CSR {
	a := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}
	for i := range n {
		a.Idx = append(a.Idx, int32((i+n-1)%n), int32((i+1)%n))
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	return a
}

func BenchmarkColumnSums(b *testing.B) {
	const rows, width = 512, 256
	x, scale, y := random(rows*width, 1), random(rows, 2), make([]float32, width)
	b.ReportAllocs()
	for b.Loop() {
		ColumnSums(y, x, scale, rows, width)
	}
	perSecond(b, rows*width, 4)
}

func BenchmarkBiasRows(b *testing.B) {
	const rows, width = 512, 256
	y, scale, x := make([]float32, rows*width), random(rows, 2), random(width, 1)
	b.ReportAllocs()
	for b.Loop() {
		BiasRows(y, x, scale, rows, width)
	}
	perSecond(b, rows*width, 4)
}

func BenchmarkMultiply(b *testing.B) {
	const n = 512 * 256
	x, y, z := random(n, 1), random(n, 2), make([]float32, n)
	b.ReportAllocs()
	for b.Loop() {
		Multiply(z, x, y)
	}
	perSecond(b, n, 12)
}

func BenchmarkPropagateRows(b *testing.B) {
	const n = 100000
	a := randomCSR(n, n, 14)
	a.Val = nil
	scale := make([]float32, n)
	for i := range scale {
		scale[i] = 0.3
	}
	p := &graph.Laplacian{Adjacency: a, RowScale: scale, ColScale: scale}
	for _, width := range []int{64, 128, 256} {
		x, y := random(n*width, 1), make([]float32, n*width)
		b.Run(fmt.Sprintf("f=%d", width), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				PropagateRows(y, p, nil, x, width, nil)
			}
			s := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(a.NNZ()+n)/s/1e6, "Medges/s")
			perSecond(b, int(a.NNZ()+n)*width, 4)
		})
	}
}

func TestScatterUndoesGather(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := drawWidth(t)
		ids := rapid.SliceOfNDistinct(rapid.Int32Range(0, 199), 0, 200, rapid.ID[int32]).Draw(t, "ids")
		x := random(len(ids)*width, 1)
		dst, intact := guarded(200 * width)
		clear(dst)
		Scatter(dst, x, ids, width)
		got := make([]float32, len(x))
		Gather(got, dst, ids, width)
		written := make(map[int]bool)
		for _, id := range ids {
			written[int(id)] = true
		}
		for k := range got {
			if got[k] != x[k] {
				t.Fatalf("element %d is %v, want %v", k, got[k], x[k])
			}
		}
		for k, v := range dst {
			if v != 0 && !written[k/width] {
				t.Fatalf("row %d was written", k/width)
			}
		}
		if !intact() {
			t.Fatal("wrote outside dst")
		}
	})
}
