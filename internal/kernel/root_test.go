package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSquareRoot wants the bits of math.Sqrt at every length and alignment.
func TestSquareRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Float64Min(0), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), 5e-324, -1}))
		x := rapid.SliceOfN(number, 0, 40).Draw(t, "x")
		got := append([]float64(nil), x...)
		from := rapid.IntRange(0, len(x)).Draw(t, "from")
		SquareRoot(got[from:])
		for k, v := range x {
			want := v
			if k >= from {
				want = math.Sqrt(v)
			}
			if math.Float64bits(got[k]) != math.Float64bits(want) && !(math.IsNaN(got[k]) && math.IsNaN(want)) {
				t.Fatalf("element %d of %d: √%v = %v, want %v", k, len(x), v, got[k], want)
			}
		}
	})
}
