// Package simd tells which vector instructions the assembly of packages kernel
// and blas may use on this machine.
//
//	processor ─▶ simd.Available() ─▶ kernel, blas: which inner loops
//	                          └▶ gcn version
//
// The build tag noasm makes the answer Portable everywhere.
package simd

// Level is a set of vector instructions; a higher one includes the lower.
type Level uint8

// The levels.
const (
	Portable Level = iota // plain Go
	AVX2                  // amd64 with AVX2, FMA, BMI2 and F16C: vectors of 8 float32
	AVX512                // amd64 with AVX-512 F, BW, DQ and VL: vectors of 16
)

// String returns portable, avx2 or avx512.
func (l Level) String() string {
	switch l {
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return "portable"
}
