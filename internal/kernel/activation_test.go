package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/internal/simd"
)

// slowActivation returns act(z) and its slope in float64.
func slowActivation(act Activation, z float64) (y, slope float64) {
	switch {
	case act == GELU:
		phi := math.Erfc(-z/math.Sqrt2) / 2
		return z * phi, phi + z*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
	case act == Identity || z > 0:
		return z, 1
	case act == ELU:
		return math.Expm1(z), math.Exp(z)
	}
	return 0, 0
}

func TestActivate(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			act := rapid.SampledFrom([]Activation{Identity, ELU, ReLU, GELU}).Draw(t, "act")
			rows, width := rapid.IntRange(0, 20).Draw(t, "rows"), drawWidth(t)
			drop := Dropout{Rate: rapid.SampledFrom([]float32{0, 0, 0.1, 0.5, 0.9}).Draw(t, "rate"), Seed: rapid.Uint64().Draw(t, "seed"), Noise: drawNoise(t, rows)}
			z := random(rows*width, 1)
			for k := range z {
				z[k] *= 4
			}
			threshold, keep := drop.Threshold()
			dst, intact := guarded(rows * width)
			slope, intact2 := guarded(rows * width)
			Activate(act, dst, slope, z, rows, width, drop)
			for k, v := range z {
				y, s := slowActivation(act, float64(v))
				mask := 1.0
				if threshold > 0 {
					mask = float64(keep)
					if dropHash(rowKey(drop.Seed, k/width), k%width) < threshold {
						mask = 0
					}
					if drop.Noise != nil {
						mask = 1 + float64(drop.Noise[k/width])*(mask-1)
					}
					y, s = y*mask, s*mask
				}
				sizeY, sizeS := math.Abs(y), math.Abs(s)
				if act == GELU && sizeY > 0 { // z·Φ(z) has the error of Φ
					sizeY, sizeS = math.Abs(float64(v)*mask), math.Abs(mask)
				}
				near(t, "activation", k, dst[k], y, sizeY, 4e-7)
				near(t, "slope", k, slope[k], s, sizeS, 4e-7)
			}
			alone, intact3 := guarded(rows * width)
			Activate(act, alone, nil, z, rows, width, drop)
			for k := range alone {
				if alone[k] != dst[k] {
					t.Fatalf("element %d is %v without slope, %v with", k, alone[k], dst[k])
				}
			}
			// In place, with the slope over z.
			Activate(act, alone, z, z, rows, width, drop)
			for k := range alone {
				if alone[k] != dst[k] || z[k] != slope[k] {
					t.Fatalf("element %d in place: %v, slope %v; want %v, %v", k, alone[k], z[k], dst[k], slope[k])
				}
			}
			if !intact() || !intact2() || !intact3() {
				t.Fatal("wrote outside dst or slope")
			}
		})
	})
}

// drawNoise draws the factors of the rows' noise, 0 and 1 among them, or nil.
func drawNoise(t *rapid.T, rows int) []float32 {
	if rapid.Bool().Draw(t, "plain") {
		return nil
	}
	noise := make([]float32, rows)
	for i := range noise {
		noise[i] = rapid.SampledFrom([]float32{0, 1, 0.25, 0.7, 3}).Draw(t, "noise")
	}
	return noise
}

// Noise of factor 1 gives the bits of plain dropout, where elements are not finite too. Noise
// of factor 0 gives the bits of no dropout.
func TestNoiseOfOneAndZero(t *testing.T) {
	const rows, width = 9, 77
	z := random(rows*width, 1)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for k, v := range []float32{nan, inf, -inf, float32(math.Copysign(0, -1))} {
		for i := range 6 {
			z[k*40+i*3] = v
		}
	}
	same := func(a, b []float32) bool {
		return slices.EqualFunc(a, b, func(x, y float32) bool {
			return math.Float32bits(x) == math.Float32bits(y) || x != x && y != y
		})
	}
	levels(t, func(t *testing.T) {
		for _, act := range []Activation{Identity, ELU, ReLU} {
			for _, rate := range []float32{0.2, 0.5, 0.9} {
				run := func(d Dropout) (y, s []float32) {
					y, s = make([]float32, len(z)), make([]float32, len(z))
					Activate(act, y, s, z, rows, width, d)
					return y, s
				}
				noise := make([]float32, rows)
				y, s := run(Dropout{Rate: rate, Seed: 3, Noise: noise})
				wantY, wantS := run(Dropout{})
				if !same(y, wantY) || !same(s, wantS) {
					t.Errorf("%v, rate %v: no noise differs from no dropout", act, rate)
				}
				for i := range noise {
					noise[i] = 1
				}
				y, s = run(Dropout{Rate: rate, Seed: 3, Noise: noise})
				wantY, wantS = run(Dropout{Rate: rate, Seed: 3})
				if !same(y, wantY) || !same(s, wantS) {
					t.Errorf("%v, rate %v: noise of factor 1 differs from the noise as it is", act, rate)
				}
			}
		}
	})
}

// Relative accuracy of ELU and of its slope over the whole range of float32
// exponents.
func TestELUAccuracy(t *testing.T) {
	levels(t, func(t *testing.T) {
		var z []float32
		for bits := math.Float32bits(1e-30); bits < math.Float32bits(86.9); bits += 997 {
			z = append(z, -math.Float32frombits(bits))
		}
		y, s := make([]float32, len(z)), make([]float32, len(z))
		Activate(ELU, y, s, z, 1, len(z), Dropout{})
		var worstY, worstS float64
		for k, v := range z {
			wantY, wantS := slowActivation(ELU, float64(v))
			worstY = max(worstY, math.Abs(float64(y[k])/wantY-1))
			worstS = max(worstS, math.Abs(float64(s[k])/wantS-1))
		}
		t.Logf("%d values: relative error at most %.2g, of the slope %.2g", len(z), worstY, worstS)
		if worstY > 3e-7 || worstS > 3e-7 {
			t.Errorf("relative error %g, of the slope %g; want at most 3e-7", worstY, worstS)
		}
	})
}

// The error of GELU is at most the error of Φ times the argument, for both signs.
func TestGELUAccuracy(t *testing.T) {
	var worstY, worstS float64
	for bits := math.Float32bits(1e-30); bits < math.Float32bits(60); bits += 997 {
		for _, z := range []float32{math.Float32frombits(bits), -math.Float32frombits(bits)} {
			y, s := gelu(z)
			wantY, wantS := slowActivation(GELU, float64(z))
			worstY = max(worstY, math.Abs(float64(y)-wantY)/math.Abs(float64(z)))
			worstS = max(worstS, math.Abs(float64(s)-wantS))
		}
	}
	t.Logf("error at most %.2g of the argument, of the slope %.2g", worstY, worstS)
	if worstY > 4e-7 || worstS > 4e-7 {
		t.Errorf("error %g of the argument, of the slope %g; want at most 4e-7", worstY, worstS)
	}
}

// geluRounded is gelu with a rounding after each operation.
func geluRounded(z float32) (y, slope float32) {
	if z > geluFar {
		return z, 1
	}
	if z < -geluFar {
		return 0, 0
	}
	sq := float32(-0.5) * z
	x := max(float32(sq*z), expFloor)
	n := int32(float32(x*log2E) - 0.5)
	f := float32(n)
	r := x - float32(f*ln2Hi)
	r -= float32(f * ln2Lo)
	e := float32(expC0)
	for _, c := range []float32{expC1, expC2, expC3, expC4, expC5} {
		e = float32(e*r) + c
	}
	e = float32(e*float32(r*r)) + r
	two := math.Float32frombits(uint32(n<<23 + expOne))
	e = float32(two*e) + two
	t := 1 / (1 + float32(erfP*invSqrt2*float32(math.Abs(float64(z)))))
	p := float32(erfA5)
	for _, c := range []float32{erfA4, erfA3, erfA2, erfA1} {
		p = float32(p*t) + c
	}
	tail := float32(float32(float32(0.5*p)*t) * e)
	phi := tail
	if z > 0 {
		phi = 1 - tail
	}
	return z * phi, phi + float32(float32(z*invSqrt2Pi)*e)
}

// fuses reports whether the compiler makes one operation of a product and a sum.
//
//go:noinline
func fuses(a, b, c float32) bool { return a*b+c != float32(a*b)+c }

// TestGELUBits checks that GELU has the same bits at each level, unless the compiler fuses
// operations of the portable form.
func TestGELUBits(t *testing.T) {
	var z []float32
	for bits := uint32(0); bits < math.Float32bits(60); bits += 997 {
		z = append(z, math.Float32frombits(bits), -math.Float32frombits(bits))
	}
	for _, near := range []float32{geluFar, -geluFar} {
		z = append(z, math.Nextafter32(near, 0), near, math.Nextafter32(near, 2*near))
	}
	levels(t, func(t *testing.T) {
		y, s := make([]float32, len(z)), make([]float32, len(z))
		Activate(GELU, y, s, z, 1, len(z), Dropout{})
		if level == simd.Portable && fuses(1+0x1p-12, 1+0x1p-12, -1-0x1p-11) {
			t.Skip("the compiler fuses products and sums")
		}
		for k, v := range z {
			wantY, wantS := geluRounded(v)
			if math.Float32bits(y[k]) != math.Float32bits(wantY) || math.Float32bits(s[k]) != math.Float32bits(wantS) {
				t.Fatalf("gelu(%v) = %v, slope %v; want %v, %v", v, y[k], s[k], wantY, wantS)
			}
		}
	})
}

func TestActivateSpecialValues(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	z := []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), -1000, 1e-42, -1e-42}
	levels(t, func(t *testing.T) {
		for act, want := range map[Activation][]float32{
			Identity: z,
			ELU:      {nan, inf, -1, 0, 0, -1, 1e-42, -1e-42},
			ReLU:     {nan, inf, 0, 0, 0, 0, 1e-42, 0},
			GELU:     {nan, inf, 0, 0, 0, 0, 5e-43, -5e-43},
		} {
			y, s := make([]float32, len(z)), make([]float32, len(z))
			Activate(act, y, s, z, 1, len(z), Dropout{})
			for k := range z {
				if y[k] != want[k] && !(y[k] != y[k] && want[k] != want[k]) {
					t.Errorf("%v(%v) = %v, want %v", act, z[k], y[k], want[k])
				}
			}
			// The slope of ReLU is 0 at 0, where the derivative does not exist.
			if act == ReLU && (s[3] != 0 || s[4] != 0) {
				t.Errorf("slope of relu at 0 is %v, %v", s[3], s[4])
			}
		}
	})
}

// Masks must not depend on the level, the rows around, or the width of the
// chunk that a row is computed in.
func TestDropoutMaskDependsOnSeedAndRowAlone(t *testing.T) {
	const rows, width = 40, 77
	ones := make([]float32, rows*width)
	for k := range ones {
		ones[k] = 1
	}
	drop := Dropout{Rate: 0.3, Seed: 99}
	threshold, scale := drop.Threshold()
	levels(t, func(t *testing.T) {
		y := make([]float32, rows*width)
		Activate(Identity, y, nil, ones, rows, width, drop)
		for k, v := range y {
			want := scale
			if dropHash(rowKey(99, k/width), k%width) < threshold {
				want = 0
			}
			if v != want {
				t.Fatalf("row %d, column %d: %v, want %v", k/width, k%width, v, want)
			}
		}
		fewer := make([]float32, 7*width)
		Activate(Identity, fewer, nil, ones, 7, width, drop)
		for k := range fewer {
			if fewer[k] != y[k] {
				t.Fatalf("element %d changes with the number of rows", k)
			}
		}
		sameOnAnyCores(t, func() []float32 {
			y := make([]float32, 3000*width)
			Activate(ELU, y, nil, random(3000*width, 1), 3000, width, drop)
			return y
		})
	})
}

// The share of survivors, over all elements, over each column and each row,
// and the share of neighbours that survive together, must follow the law of
// independent draws.
func TestDropoutLaw(t *testing.T) {
	const rows, width = 4000, 256
	ones := make([]float32, rows*width)
	for k := range ones {
		ones[k] = 1
	}
	for _, rate := range []float32{0.1, 0.5, 0.77} {
		for _, seed := range []uint64{0, 1, 2, 1 << 40} {
			y := make([]float32, rows*width)
			Activate(Identity, y, nil, ones, rows, width, Dropout{Rate: rate, Seed: seed})
			keep := 1 - float64(rate)
			byRow, byColumn := make([]int, rows), make([]int, width)
			var total, right, below, half int
			var mean float64
			for i := range rows {
				for j := range width {
					v := y[i*width+j]
					mean += float64(v)
					if v == 0 {
						continue
					}
					total++
					byRow[i]++
					byColumn[j]++
					if j+1 < width && y[i*width+j+1] != 0 {
						right++
					}
					if i+1 < rows && y[(i+1)*width+j] != 0 {
						below++
					}
					if j+16 < width && y[i*width+j+16] != 0 {
						half++
					}
				}
			}
			check := func(what string, got int, n int, p float64, sigmas float64) {
				t.Helper()
				sd := math.Sqrt(float64(n) * p * (1 - p))
				if d := math.Abs(float64(got) - float64(n)*p); d > sigmas*sd {
					t.Errorf("rate %v, seed %d: %s: %d of %d, %.1f standard deviations off", rate, seed, what, got, n, d/sd)
				}
			}
			check("survivors", total, rows*width, keep, 4)
			check("pairs in a row", right, rows*(width-1), keep*keep, 5)
			check("pairs in a column", below, (rows-1)*width, keep*keep, 5)
			check("pairs 16 apart", half, rows*(width-16), keep*keep, 5)
			for i := range byRow {
				check(fmt.Sprintf("row %d", i), byRow[i], width, keep, 6)
			}
			for j := range byColumn {
				check(fmt.Sprintf("column %d", j), byColumn[j], rows, keep, 5)
			}
			if m := mean / (rows * width); math.Abs(m-1) > 0.01 {
				t.Errorf("rate %v: mean %v, want 1", rate, m)
			}
		}
	}
}

// The kept share times the scale is exactly 1, for any rate.
func TestDropoutIsUnbiased(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float32Range(0, 0.99999).Draw(t, "rate")
		threshold, scale := Dropout{Rate: rate}.Threshold()
		if threshold == 0 && scale != 1 {
			t.Fatalf("nothing dropped, but scale %v", scale)
		}
		keep := float64(65536-threshold) / 65536
		if math.Abs(keep*float64(scale)-1) > 1e-7 {
			t.Fatalf("rate %v: kept %v times %v", rate, keep, scale)
		}
		if math.Abs(keep-(1-float64(rate))) > 1.0/65536 {
			t.Fatalf("rate %v: kept %v", rate, keep)
		}
	})
	for _, rate := range []float32{0, -1, float32(math.NaN())} {
		if threshold, scale := (Dropout{Rate: rate}).Threshold(); threshold != 0 || scale != 1 {
			t.Errorf("rate %v drops", rate)
		}
	}
}

func BenchmarkActivate(b *testing.B) {
	const rows, width = 512, 256
	z := random(rows*width, 1)
	y, s := make([]float32, len(z)), make([]float32, len(z))
	for _, act := range []Activation{ELU, ReLU, GELU} {
		for _, rate := range []float32{0, 0.1} {
			for _, slope := range [][]float32{nil, s} {
				b.Run(fmt.Sprintf("%v/drop=%v/slope=%t", act, rate, slope != nil), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						Activate(act, y, slope, z, rows, width, Dropout{Rate: rate, Seed: 1})
					}
					perSecond(b, len(z), 8+4*min(len(slope), 1))
				})
			}
		}
	}
}
