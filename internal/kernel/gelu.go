package kernel

// geluFar is where Φ differs from 0 or 1 by less than the smallest normal float32.
const geluFar = 13

// Constants of GELU: 1/√2, 1/√(2π), and the approximation 7.1.26 of erf by Abramowitz &
// Stegun (1964), of absolute error 1.5e-7.
const (
	invSqrt2   = 0.70710678118654752
	invSqrt2Pi = 0.39894228040143268
	erfP       = 0.3275911
	erfA1      = 0.254829592
	erfA2      = -0.284496736
	erfA3      = 1.421413741
	erfA4      = -1.453152027
	erfA5      = 1.061405429
)

// gelu returns z·Φ(z) and its slope Φ(z) + z·φ(z), with errors of at most 4e-7·|z| and 4e-7.
// NaN gives NaN.
func gelu(z float32) (y, slope float32) {
	if z > geluFar {
		return z, 1
	}
	if z < -geluFar {
		return 0, 0
	}
	e, _ := expNeg(-0.5 * z * z)
	t := 1 / (1 + erfP*invSqrt2*abs(z))
	p := float32(erfA5)
	p = p*t + erfA4
	p = p*t + erfA3
	p = p*t + erfA2
	p = p*t + erfA1
	tail := 0.5 * p * t * e // Φ(−|z|)
	phi := tail
	if z > 0 {
		phi = 1 - tail
	}
	return z * phi, phi + z*invSqrt2Pi*e
}
