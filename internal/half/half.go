// Package half converts between float32 and IEEE 754 half precision: 1 bit of
// sign, 5 of exponent, 10 of fraction, kept as uint16.
//
//	half ◀─ graph (features of half the size)
//	     ◀─ internal/kernel (many at a time), internal/npy, internal/weights, datasets, ops
//
// A half holds magnitudes from 6·10⁻⁸ to 65,504. The rounding error is at most 2⁻¹¹
// of the value from 6.1·10⁻⁵ on, and at most 2⁻²⁵ below.
package half

import "math"

// Most is the largest finite half.
const Most = 65504

// Float32 returns the value of h, exactly.
func Float32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 31
	if exponent == 31 { // infinite or NaN
		return math.Float32frombits(sign | 0xff<<23 | uint32(h&0x3ff)<<13)
	}
	// The exponents have the biases 15 and 127: in the places of a float32 the
	// bits are the value times 2^−112, for subnormal halves too.
	v := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// FromFloat32 rounds v to the nearest half, ties to even. Magnitudes of 65,520 and
// more become infinite.
func FromFloat32(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits>>16) & 0x8000
	bits &= 0x7fffffff
	switch {
	case bits > 0xff<<23:
		return sign | 0x7e00 // NaN
	case bits >= (127+16)<<23:
		return sign | 0x7c00
	case bits < (127-14)<<23:
		// Subnormal: the last bits of the sum with 0.5 count units of 2^−24, and
		// the processor rounds them.
		rounded := math.Float32frombits(bits) + 0.5
		return sign | uint16(math.Float32bits(rounded)-math.Float32bits(0.5))
	}
	// Add half a unit in the last place, less one if the last bit is even: it
	// carries if v rounds up. The carry may reach the exponent, up to infinity.
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-(127-15)<<23)>>13)
}

// Narrow rounds values to half precision like FromFloat32. It stops at the first value
// without a finite half and returns its index, or −1 if there is none. dst must be
// as long as values.
func Narrow(dst []uint16, values []float32) int {
	dst = dst[:len(values)]
	for k, v := range values {
		if dst[k] = FromFloat32(v); dst[k]&0x7c00 == 0x7c00 { // infinite or NaN
			return k
		}
	}
	return -1
}
