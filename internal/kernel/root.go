package kernel

import "math"

// SquareRoot sets every element of x to its square root, correctly rounded, so
// the same bits on every machine. It runs on the caller's goroutine.
func SquareRoot(x []float64) { squareRoot(x) }

// squareRootGo is the portable form of squareRoot.
func squareRootGo(x []float64) {
	for k, v := range x {
		x[k] = math.Sqrt(v)
	}
}
