package half

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// defined returns the value of h by the definition of the format.
func defined(h uint16) float64 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10)&31, float64(h&1023)
	switch {
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(fraction/1024, -14)
	}
	return sign * math.Ldexp(1+fraction/1024, exponent-15)
}

func TestFloat32(t *testing.T) {
	for k := range 1 << 16 {
		h := uint16(k)
		got, want := Float32(h), defined(h)
		if math.IsNaN(want) {
			if got == got {
				t.Errorf("%#04x is %v, want NaN", h, got)
			}
			continue
		}
		if float64(got) != want || math.Signbit(float64(got)) != (h>>15 == 1) {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
		if back := FromFloat32(got); back != h {
			t.Errorf("%#04x came back as %#04x", h, back)
		}
	}
}

// nearest searches all halves of v's sign; it breaks ties to even, and takes 65,536
// for infinity.
func nearest(v float32) uint16 {
	sign := uint16(math.Float32bits(v)>>16) & 0x8000
	best, distance := uint16(0), math.Inf(1)
	for h := range uint16(0x7c01) {
		x := defined(h)
		if h == 0x7c00 {
			x = 65536
		}
		if d := math.Abs(math.Abs(float64(v)) - x); d < distance || d == distance && h%2 == 0 {
			best, distance = h, d
		}
	}
	return sign | best
}

func TestFromFloat32(t *testing.T) {
	check := func(t interface{ Errorf(string, ...any) }, v float32) {
		if got, want := FromFloat32(v), nearest(v); got != want {
			t.Errorf("%v became %#04x, want %#04x", v, got, want)
		}
	}
	edges := []float32{0, 1, 65504, 65519.996, 65520, 65535, 0x1p-14, 0x1.ffcp-15, 0x1.ffep-15, 0x1p-24, 0x1p-25, 0x1.000002p-25, 0x1.8p-24, 0x1p-26, 1e-40, 2049, 2051, 0x1.002p0, 0x1.006p0}
	for _, v := range edges {
		check(t, v)
		check(t, -v)
	}
	if got := FromFloat32(float32(math.Copysign(0, -1))); got != 0x8000 {
		t.Errorf("−0 became %#04x", got)
	}
	for _, v := range []float64{math.Inf(1), math.MaxFloat32} {
		if FromFloat32(float32(v)) != 0x7c00 || FromFloat32(float32(-v)) != 0xfc00 {
			t.Errorf("±%v did not become infinite", v)
		}
	}
	if h := FromFloat32(float32(math.NaN())); defined(h) == defined(h) {
		t.Errorf("NaN became %#04x", h)
	}
	rapid.Check(t, func(t *rapid.T) {
		exponent := rapid.Uint32Range(127-27, 127+15).Draw(t, "exponent")
		check(t, math.Float32frombits(exponent<<23|rapid.Uint32Range(0, 1<<23-1).Draw(t, "fraction")))
	})
}

func Example() {
	h := FromFloat32(0.1)
	fmt.Printf("%#04x %.7f\n", h, Float32(h))
	// Output: 0x2e66 0.0999756
}
