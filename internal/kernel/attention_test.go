package kernel

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
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

// TestHeads compares the steps of an attention's heads with sums in float64.
func TestHeads(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			heads, width := rapid.IntRange(1, 9).Draw(t, "heads"), rapid.OneOf(rapid.IntRange(1, 50), rapid.SampledFrom([]int{16, 32, 48, 64})).Draw(t, "width")
			columns, rows := heads*width, rapid.IntRange(0, 30).Draw(t, "rows")
			one := rapid.Bool().Draw(t, "one vector for all heads")
			vector := func(seed uint64) []float32 {
				if one {
					return random(width, seed)
				}
				return random(columns, seed)
			}
			of := func(x []float32, h, k int) float64 { return float64(headOf(x, make([]float32, columns), h, width)[k]) }
			x, y := vector(1), random(columns, 2)
			dots, intact := guarded(heads)
			headDots(dots, x, y, width)
			for h := range dots {
				var want, size float64
				for k := range width {
					p := of(x, h, k) * float64(y[h*width+k])
					want, size = want+p, size+math.Abs(p)
				}
				near(t, "headDots", h, dots[h], want, size, 1e-6)
			}
			c := random(heads, 3) // about half of them count
			const scale = 1.25
			for _, average := range []bool{false, true} { // one vector to add to, or one to add
				to, from := columns, x
				if average {
					to, from = width, y
				}
				sum, intact := guarded(to)
				copy(sum, random(to, 4))
				was := slices.Clone(sum)
				headSum(sum, c, scale, from, width)
				for k := range sum {
					want, size := float64(was[k]), math.Abs(float64(was[k]))
					for h, v := range c {
						if v > 0 && (average || h == k/width) {
							p := scale * float64(v) * of(from, h, k%width)
							want, size = want+p, size+math.Abs(p)
						}
					}
					near(t, "headSum", k, sum[k], want, size, 1e-6)
				}
				if !intact() {
					t.Fatal("wrote outside y")
				}
			}
			d, z := random(rows*heads, 5), random(rows*columns, 6)
			sums, intact2 := guarded(columns)
			HeadSums(sums, d, z, rows, heads, width)
			for k := range sums {
				var want float64
				for j := range rows {
					want += float64(d[j*heads+k/width]) * float64(z[j*columns+k])
				}
				if sums[k] != float32(want) {
					t.Fatalf("HeadSums: column %d is %v, want %v exactly", k, sums[k], float32(want))
				}
			}
			if !intact() || !intact2() {
				t.Fatal("wrote outside the result")
			}
		})
		nan := []float32{float32(math.NaN())}
		sum := make([]float32, 16)
		headSum(sum, nan, 1, random(16, 1), 16)
		if sum[0] == sum[0] {
			t.Error("a coefficient that is NaN is left out")
		}
	})
}
