package kernel

import (
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/half"
	"pgregory.net/rapid"
)

// TestSpMMControl compares with two products, to the bit, in both precisions.
func TestSpMMControl(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			width := drawWidth(t)
			rows := rapid.IntRange(0, 70).Draw(t, "rows")
			a, m := drawCSR(t, rows, rapid.IntRange(1, 40).Draw(t, "columns")), drawCSR(t, rows, rapid.IntRange(1, 60).Draw(t, "rows of the history"))
			x, values := random(a.Cols*width, 1), random(m.Cols*width, 2)
			halves := make([]uint16, len(values))
			for k, v := range values {
				halves[k] = half.FromFloat32(v)
			}
			for _, c := range []Control{{Matrix: m, Rows: values}, {Matrix: m, Half: halves}} {
				history := c.Rows
				if history == nil {
					history = make([]float32, len(halves))
					widen(history, halves)
				}
				want, second := make([]float32, a.Rows*width), make([]float32, a.Rows*width)
				SpMM(want, a, x, width)
				SpMM(second, m, history, width)
				for k, v := range second {
					want[k] += v
				}
				got, intact := guarded(a.Rows * width)
				SpMMControl(got, a, x, c, width)
				if !slices.Equal(got, want) {
					t.Fatalf("half %v: %v, want %v", c.Rows == nil, got, want)
				}
				if !intact() {
					t.Fatal("wrote outside dst")
				}
			}
		})
	})
}
