package kernel

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// The steps of an attention that is split over the cores give the same bits for any number
// of them.
func TestAttentionOnAnyNumberOfCores(t *testing.T) {
	const rows, cols, heads, width = 600, 700, 2, 30
	rng := rand.New(rand.NewPCG(1, 2))
	floats := func(n int) []float32 {
		x := make([]float32, n)
		for k := range x {
			x[k] = float32(rng.NormFloat64())
		}
		return x
	}
	a := &Attention{Edges: Edges{Ptr: []int64{0}, Cols: cols}, Heads: heads, Width: width, Dropout: Dropout{Rate: 0.3, Seed: 4}}
	columns := make([][][2]int32, cols) // entry and row
	for i := range int32(rows) {
		a.Own = append(a.Own, i)
		for range rng.IntN(40) {
			j := int32(rng.IntN(cols))
			columns[j] = append(columns[j], [2]int32{int32(len(a.Idx)), i})
			a.Idx, a.Weight = append(a.Idx, j), append(a.Weight, rng.Float32())
		}
		a.Ptr = append(a.Ptr, int64(len(a.Idx)))
	}
	a.ColPtr = []int32{0}
	for _, places := range columns {
		for _, place := range places {
			a.Entry, a.Row = append(a.Entry, place[0]), append(a.Row, place[1])
		}
		a.ColPtr = append(a.ColPtr, int32(len(a.Entry)))
	}
	z, source, target, grad := floats(cols*heads*width), floats(heads*width), floats(heads*width), floats(rows*heads*width)
	if a.perRow(rows) >= rows || a.perRow(cols) >= cols {
		t.Fatal("nothing is split")
	}
	var want []float32
	for _, cores := range []int{1, 2, 7} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			s, u, alpha := make([]float32, cols*heads), make([]float32, cols*heads), make([]float32, len(a.Idx)*heads)
			out, dq, dt := make([]float32, rows*heads*width), make([]float32, len(alpha)), make([]float32, len(s))
			dz, ds, dsource := make([]float32, len(z)), make([]float32, len(s)), make([]float32, len(source))
			AttentionScores(s, z, source, cols, heads, width)
			AttentionScores(u, z, target, cols, heads, width)
			a.Coefficients(alpha, s, u)
			a.Attend(out, alpha, z, nil)
			a.Slopes(dq, dt, grad, alpha, s, u, z)
			a.Gradient(dz, ds, grad, alpha, dq, dt, source, target)
			HeadSums(dsource, ds, z, cols, heads, width)
			got := slices.Concat(out, dz, ds, dt, dsource)
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cores give other bits than 1", cores)
			}
		}()
	}
}
