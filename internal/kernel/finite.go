package kernel

// Finite tells whether no value is NaN or infinite. Cost: one pass at memory
// speed: x·0 is NaN for just those, and NaN stays through sums.
func Finite(x []float32) bool { return timesZero(x) == 0 }

// timesZeroGo is the portable form of timesZero.
func timesZeroGo(x []float32) float32 {
	var a, b, c, d float32
	for ; len(x) >= 4; x = x[4:] {
		a += x[0] * 0
		b += x[1] * 0
		c += x[2] * 0
		d += x[3] * 0
	}
	for _, v := range x {
		a += v * 0
	}
	return a + b + c + d
}
