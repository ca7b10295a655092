package kernel

import "github.com/gcn-layerwise/gcn/internal/parallel"

// Multiply sets dst[k] = a[k]·b[k] for every element of a. dst may be a or b.
func Multiply(dst, a, b []float32) {
	checkLens("Multiply", len(a), dst, b)
	parallel.For(len(a), rangeWork, func(lo, hi int) { multiply(dst[lo:hi], a[lo:hi], b[lo:hi]) })
}

// MultiplyRows is Multiply for the given rows, each there once, of matrices of
// the given width, and leaves the others as they are.
func MultiplyRows(dst, a, b []float32, rows []int32, width int) {
	checkRows("MultiplyRows", rows, width, dst, a, b)
	parallel.For(len(rows), grain(width), func(lo, hi int) {
		for _, i := range rows[lo:hi] {
			from, to := int(i)*width, (int(i)+1)*width
			multiply(dst[from:to], a[from:to], b[from:to])
		}
	})
}

// multiplyGo is the portable form of multiply.
func multiplyGo(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	for k, v := range a {
		dst[k] = v * b[k]
	}
}
