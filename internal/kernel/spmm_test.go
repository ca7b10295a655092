package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

// slowSpMM is A·X[ids] in float64 with, beside it, the sum of magnitudes.
func slowSpMM(a *graph.CSR, ids []int32, x []float32, width int) (y, size []float64) {
	y, size = make([]float64, a.Rows*width), make([]float64, a.Rows*width)
	for i := range a.Rows {
		for k := a.Ptr[i]; k < a.Ptr[i+1]; k++ {
			v, j := 1.0, a.Idx[k]
			if a.Val != nil {
				v = float64(a.Val[k])
			}
			if ids != nil {
				j = ids[j]
			}
			for c := range width {
				term := v * float64(x[int(j)*width+c])
				y[i*width+c] += term
				size[i*width+c] += math.Abs(term)
			}
		}
	}
	return y, size
}

func TestSpMM(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			width := drawWidth(t)
			a := drawCSR(t, rapid.IntRange(0, 60).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "cols"))
			x := random(a.Cols*width, 1)
			want, size := slowSpMM(a, nil, x, width)
			got, intact := guarded(a.Rows * width)
			SpMM(got, a, x, width)
			for k := range got {
				near(t, "SpMM", k, got[k], want[k], size[k], 3e-6)
			}

			nodes := a.Cols + 5
			ids := make([]int32, a.Cols)
			for k := range ids {
				ids[k] = int32((k*7 + 3) % nodes)
			}
			x = random(nodes*width, 2)
			want, size = slowSpMM(a, ids, x, width)
			gathered, intact2 := guarded(a.Rows * width)
			SpMMGather(gathered, a, ids, x, width)
			for k := range gathered {
				near(t, "SpMMGather", k, gathered[k], want[k], size[k], 3e-6)
			}
			if !intact() || !intact2() {
				t.Fatal("wrote outside dst")
			}
		})
	})
}

// Gathering first and multiplying then must give the same bits as the fusion.
func TestSpMMGatherIsGatherThenSpMM(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			width := drawWidth(t)
			a := drawCSR(t, 30, 20)
			ids := rapid.SliceOfN(rapid.Int32Range(0, 49), 20, 20).Draw(t, "ids")
			x := random(50*width, 3)
			picked := make([]float32, 20*width)
			Gather(picked, x, ids, width)
			want, got := make([]float32, 30*width), make([]float32, 30*width)
			SpMM(want, a, picked, width)
			SpMMGather(got, a, ids, x, width)
			for k := range got {
				if got[k] != want[k] {
					t.Fatalf("element %d: %v, want %v", k, got[k], want[k])
				}
			}
		})
	})
}

func TestSpMMIsTheSameOnAnyCores(t *testing.T) {
	levels(t, func(t *testing.T) {
		a := randomCSR(2000, 1000, 9)
		x := random(1000*100, 4)
		sameOnAnyCores(t, func() []float32 {
			y := make([]float32, 2000*100)
			SpMM(y, a, x, 100)
			return y
		})
	})
}

// An X that is large enough to be prefetched must give the bits that its first
// rows alone give.
func TestSpMMOfLargeX(t *testing.T) {
	levels(t, func(t *testing.T) {
		for _, width := range []int{16, 40, 96, 131, 256, 300} {
			a := randomCSR(300, 200, 5)
			n := max(22000, farValues/width+1)
			x := random(n*width, 6)
			want, got := make([]float32, 300*width), make([]float32, 300*width)
			SpMM(want, a, x[:200*width], width)
			large := *a
			large.Cols = n
			SpMM(got, &large, x, width)
			for k := range got {
				if got[k] != want[k] {
					t.Fatalf("width %d: element %d is %v, want %v", width, k, got[k], want[k])
				}
			}
			ids := make([]int32, 200)
			for k := range ids {
				ids[k] = int32(n - 1 - 100*k)
			}
			picked := make([]float32, 200*width)
			Gather(picked, x, ids, width)
			SpMM(want, a, picked, width)
			SpMMGather(got, a, ids, x, width)
			for k := range got {
				if got[k] != want[k] {
					t.Fatalf("gathered, width %d: element %d is %v, want %v", width, k, got[k], want[k])
				}
			}
			// A column outside that is prefetched before it is checked.
			ahead := graph.CSR{Rows: 1, Cols: 200, Ptr: []int64{0, 40}, Idx: make([]int32, 40)}
			ahead.Idx[39] = 1 << 30
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("gathered, width %d: no panic at a column outside", width)
					}
				}()
				SpMMGather(got, &ahead, ids, x, width)
			}()
			broken := graph.CSR{Rows: 1, Cols: n, Ptr: []int64{0, 1}, Idx: []int32{int32(n)}}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("width %d: no panic at a column outside", width)
					}
				}()
				SpMM(got, &broken, x, width)
			}()
		}
	})
}

// A column or offset outside the matrix must stop the assembly before it reads
// foreign memory.
func TestSpMMRefusesBrokenMatrices(t *testing.T) {
	levels(t, func(t *testing.T) {
		for name, a := range map[string]*graph.CSR{
			"column too large":     {Rows: 1, Cols: 2, Ptr: []int64{0, 1}, Idx: []int32{2}},
			"column negative":      {Rows: 1, Cols: 2, Ptr: []int64{0, 1}, Idx: []int32{-1}},
			"offset too large":     {Rows: 1, Cols: 2, Ptr: []int64{0, 2}, Idx: []int32{1}},
			"offsets not monotone": {Rows: 2, Cols: 2, Ptr: []int64{0, -1, 1}, Idx: []int32{1}},
			"first offset":         {Rows: 1, Cols: 2, Ptr: []int64{-1, 1}, Idx: []int32{1}},
			"too few values":       {Rows: 1, Cols: 2, Ptr: []int64{0, 2}, Idx: []int32{1, 1}, Val: []float32{1}},
		} {
			for _, width := range []int{3, 64, 128, 256} {
				for _, ids := range [][]int32{nil, {0, 1}} {
					func() {
						defer func() {
							if recover() == nil {
								t.Errorf("%s, width %d: no panic", name, width)
							}
						}()
						y, x := make([]float32, a.Rows*width), make([]float32, 2*width)
						if ids == nil {
							SpMM(y, a, x, width)
						} else {
							SpMMGather(y, a, ids, x, width)
						}
					}()
				}
			}
		}
	})
}

// randomCSR returns a matrix of about degree entries a row.
func randomCSR(rows, cols, degree int) *graph.CSR {
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

func BenchmarkSpMM(b *testing.B) {
	for _, size := range []struct{ rows, cols, degree int }{{512, 1024, 10}, {1024, 512, 5}, {100000, 100000, 14}} {
		for _, width := range []int{40, 64, 128, 256, 512} {
			if size.rows > 10000 && width > 256 {
				continue
			}
			a := randomCSR(size.rows, size.cols, size.degree)
			x, y := random(size.cols*width, 1), make([]float32, size.rows*width)
			ids := make([]int32, size.cols)
			for k := range ids {
				ids[k] = int32(size.cols - 1 - k)
			}
			for _, kind := range []string{"plain", "gather"} {
				b.Run(fmt.Sprintf("n=%d/f=%d/%s", size.rows, width, kind), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						if kind == "plain" {
							SpMM(y, a, x, width)
						} else {
							SpMMGather(y, a, ids, x, width)
						}
					}
					s := b.Elapsed().Seconds() / float64(b.N)
					b.ReportMetric(2*float64(a.NNZ())*float64(width)/s/1e9, "GFLOP/s")
					b.ReportMetric(float64(a.NNZ())/s/1e6, "Medges/s")
				})
			}
		}
	}
}
