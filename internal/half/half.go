// Package half converts between float32 and IEEE 754 half precision: 1 bit of
// sign, 5 of exponent, 10 of fraction, kept as uint16.
//
//	half ◀─ graph (features of half the size)
//	     ◀─ internal/kernel (many at a time), internal/npy, datasets
//
// A half holds numbers of magnitude 6·10⁻⁸ to 65,504: above 6.1·10⁻⁵ with a
// relative error of at most 2⁻¹¹, below it with an absolute one of at most 2⁻²⁵.
package half

import "math"

// Most is the greatest finite half.
const Most = 65504

// Float32 returns the number that h is, exactly.
func Float32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 31
	if exponent == 31 { // infinite, or not a number
		return math.Float32frombits(sign | 0xff<<23 | uint32(h&0x3ff)<<13)
	}
	// With the exponents' biases of 15 and 127 apart, the bits in their places
	// are the number times 2^−112, for subnormal ones too.
	v := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	return math.Float32frombits(math.Float32bits(v) | sign)
}

// FromFloat32 returns the half next to v, of two equally near the one with an
// even last bit. What is 65,520 or more in magnitude becomes infinite.
func FromFloat32(v float32) uint16 {
	bits := math.Float32bits(v)
	sign := uint16(bits>>16) & 0x8000
	bits &= 0x7fffffff
	switch {
	case bits > 0xff<<23:
		return sign | 0x7e00 // not a number
	case bits >= (127+16)<<23:
		return sign | 0x7c00
	case bits < (127-14)<<23:
		// Subnormal: adding 0.5 leaves the units of 2^−24 in the last bits,
		// rounded by the processor.
		rounded := math.Float32frombits(bits) + 0.5
		return sign | uint16(math.Float32bits(rounded)-math.Float32bits(0.5))
	}
	// Half a last place, less one if the last bit is even, carries where the
	// number rounds up; the carry may go on to the exponent, or to infinity.
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-(127-15)<<23)>>13)
}
