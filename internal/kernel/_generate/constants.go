package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// constants are vectors in memory, one for each value used, so that they cost
// no registers.
var constants = map[uint32]Mem{}

// bits returns a vector of 16 equal 32-bit words in memory.
func bits(x uint32) Mem {
	m, ok := constants[x]
	if !ok {
		m = GLOBL(fmt.Sprintf("const%08x", x), NOPTR|RODATA)
		for i := range 16 {
			DATA(4*i, U32(x))
		}
		constants[x] = m
	}
	return m
}

// float returns a vector of 16 equal numbers in memory.
func float(x float64) Mem { return bits(math.Float32bits(float32(x))) }

// Constants of expNeg; see exp.go of the package.
const (
	expFloor = -87
	log2E    = 1.44269504088896341
	ln2Hi    = 0.693359375
	ln2Lo    = -2.12194440e-4
)

// The least probability in a gradient; see softmax.go of the package.
const smallestProbability = 1e-14

var expPolynomial = []float64{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1}

// Constants of gelu; see gelu.go of the package.
const (
	geluFar    = 13
	invSqrt2   = 0.70710678118654752
	invSqrt2Pi = 0.39894228040143268
	erfP       = 0.3275911
)

var erfPolynomial = []float64{1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}

// Multipliers of the mask hash; see activation.go of the package.
const (
	maskWeyl = 0x9e3779b9
	maskMul0 = 0x7feb352d
	maskMul1 = 0x846ca68b
)
