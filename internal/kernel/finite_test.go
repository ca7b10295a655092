package kernel

import (
	"math"
	"testing"
)

func TestFinite(t *testing.T) { levels(t, testFinite) }

func testFinite(t *testing.T) {
	for n := range 150 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i) / 150 * math.MaxFloat32
		}
		if !Finite(x) {
			t.Fatalf("%v is not finite", x)
		}
		for i := range x {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				was := x[i]
				x[i] = v
				if Finite(x) {
					t.Errorf("%d values, with %v at %d, are finite", n, v, i)
				}
				x[i] = was
			}
		}
	}
}
