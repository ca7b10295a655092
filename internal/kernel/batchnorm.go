package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// BatchMoments sets mean and variance to the moments of the columns of z: the variance is
// the mean square of the distances, without Bessel's correction. Sums are in float64. z has
// at least one row. Cost: two passes over z.
func BatchMoments(mean, variance []float64, z []float32, rows, width int) {
	checkLens("BatchMoments", width, mean, variance)
	checkLen("BatchMoments", "z", len(z), rows*width)
	eachColumns(width, 1, func(lo, hi int) {
		mean, variance := mean[lo:hi], variance[lo:hi]
		columnTotals(mean, from(z, lo), rows, width)
		for j := range mean {
			mean[j] /= float64(rows)
		}
		columnSquares(variance, from(z, lo), mean, rows, width)
		for j := range variance {
			variance[j] /= float64(rows)
		}
	})
}

// BatchNorm normalises the columns of z and maps them by gain[j]·x + shift[j] (Ioffe &
// Szegedy 2015, arXiv:1502.03167):
//
//	dst = gain·x̂ + shift,   x̂ = (z − mean)/√(variance + LayerNormEpsilon)
//
// normalized, if not nil, is set to x̂, and inverse to 1/√(variance + LayerNormEpsilon). dst may
// be z.
func BatchNorm(dst, normalized []float32, inverse, mean, variance []float64, z, gain, shift []float32, rows, width int) {
	checkLens("BatchNorm", rows*width, dst, z, normalized)
	if normalized == nil {
		normalized = dst
	}
	for j, v := range variance[:width] {
		inverse[j] = 1 / math.Sqrt(v+LayerNormEpsilon)
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at := i * width
			normalizeColumns(dst[at:], normalized[at:], z[at:][:width], gain, shift, mean, inverse)
		}
	})
}

// BatchNormGradient sets dst to the gradient with respect to z, from the gradient grad of the
// output. The moments are of z itself: they move with it. dst may be grad.
func BatchNormGradient(dst, grad, normalized []float32, inverse []float64, gain []float32, rows, width int) {
	checkLens("BatchNormGradient", rows*width, dst, grad, normalized)
	if rows == 0 {
		return
	}
	n := float64(rows)
	mean, dots, factor := make([]float64, width), make([]float64, width), make([]float64, width)
	eachColumns(width, 1, func(lo, hi int) {
		columnDots(mean[lo:hi], dots[lo:hi], from(grad, lo), from(normalized, lo), rows, width)
	})
	for j := range factor {
		factor[j] = float64(gain[j]) * inverse[j]
		mean[j] /= n
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			at := i * width
			batchNormBack(dst[at:], grad[at:][:width], normalized[at:], factor, mean, dots, n)
		}
	})
}

// The portable forms compute the elements from number k on.

func normalizeColumnsGo(y, kept, x, gain, shift []float32, mean, factor []float64, k int) {
	for j := k; j < len(x); j++ {
		n := float32((float64(x[j]) - mean[j]) * factor[j])
		kept[j] = n
		y[j] = gain[j]*n + shift[j]
	}
}

func batchNormBackGo(d, g, x []float32, factor, mean, dot []float64, rows float64, k int) {
	for j := k; j < len(g); j++ {
		d[j] = float32(factor[j] * (float64(g[j]) - mean[j] - float64(x[j])*dot[j]/rows))
	}
}
