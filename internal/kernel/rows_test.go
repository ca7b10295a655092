package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The forms that take a list of rows must give those rows the bits of the form
// for all, and leave the others alone.
func TestRowsOfALargerMatrix(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n, width := rapid.IntRange(1, 60).Draw(t, "n"), drawWidth(t)
			rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "rows"), 1))
			var rows []int32
			for _, i := range rng.Perm(n) {
				if rng.IntN(3) > 0 {
					rows = append(rows, int32(i))
				}
			}
			z, b := random(n*width, 1), random(n*width, 2)
			act := rapid.SampledFrom([]Activation{Identity, ELU, ReLU}).Draw(t, "act")
			drop := Dropout{Rate: rapid.SampledFrom([]float32{0, 0.4}).Draw(t, "rate"), Seed: 9, Noise: drawNoise(t, n)}
			check := func(what string, got, whole, before []float32) {
				for i := range n {
					want := before[i*width : (i+1)*width]
					if slices.Contains(rows, int32(i)) {
						want = whole[i*width : (i+1)*width]
					}
					for j, v := range got[i*width : (i+1)*width] {
						if math.Float32bits(v) != math.Float32bits(want[j]) {
							t.Fatalf("%s: row %d, column %d is %v, want %v", what, i, j, v, want[j])
						}
					}
				}
			}
			y, slope := random(n*width, 3), random(n*width, 4)
			y0, slope0 := slices.Clone(y), slices.Clone(slope)
			wholeY, wholeSlope := make([]float32, n*width), make([]float32, n*width)
			Activate(act, wholeY, wholeSlope, z, n, width, drop)
			ActivateRows(act, y, slope, z, rows, width, drop)
			check("activation", y, wholeY, y0)
			check("slope", slope, wholeSlope, slope0)

			product, product0 := random(n*width, 5), random(n*width, 5)
			whole := make([]float32, n*width)
			Multiply(whole, z, b)
			MultiplyRows(product, z, b, rows, width)
			check("product", product, whole, product0)
		})
	})
}

func TestRowsOutsideTheMatrixPanic(t *testing.T) {
	x := make([]float32, 6)
	for name, call := range map[string]func(){
		"row":     func() { MultiplyRows(x, x, x, []int32{2}, 3) },
		"below 0": func() { MultiplyRows(x, x, x, []int32{-1}, 3) },
		"slope":   func() { ActivateRows(ELU, x, x[:3], x, []int32{1}, 3, Dropout{}) },
		"noise":   func() { ActivateRows(ELU, x, x, x, []int32{1}, 3, Dropout{Noise: x[:1]}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}
