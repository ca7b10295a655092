package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// columnsAtATime is the number of columns that one core sums over all rows. It does not
// depend on the number of cores, and neither does a sum.
const columnsAtATime = 16

// BatchMoments sets mean and variance to the moments of the columns of z: the variance is
// the mean square of the distances, without Bessel's correction. Sums are in float64. z has
// at least one row. Cost: two passes over z.
func BatchMoments(mean, variance []float64, z []float32, rows, width int) {
	checkLen("BatchMoments", "mean", len(mean), width)
	checkLen("BatchMoments", "variance", len(variance), width)
	checkLen("BatchMoments", "z", len(z), rows*width)
	eachColumns(width, func(lo, hi int) {
		mean, variance := mean[lo:hi], variance[lo:hi]
		clear(mean)
		clear(variance)
		for i := range rows {
			for j, v := range z[i*width+lo : i*width+hi] {
				mean[j] += float64(v)
			}
		}
		for j := range mean {
			mean[j] /= float64(rows)
		}
		for i := range rows {
			for j, v := range z[i*width+lo : i*width+hi] {
				d := float64(v) - mean[j]
				variance[j] += d * d
			}
		}
		for j := range variance {
			variance[j] /= float64(rows)
		}
	})
}

func eachColumns(width int, body func(lo, hi int)) {
	parallel.For((width+columnsAtATime-1)/columnsAtATime, 1, func(from, to int) {
		for c := from; c < to; c++ {
			body(c*columnsAtATime, min((c+1)*columnsAtATime, width))
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
	checkLen("BatchNorm", "dst", len(dst), rows*width)
	checkLen("BatchNorm", "z", len(z), rows*width)
	for j, v := range variance[:width] {
		inverse[j] = 1 / math.Sqrt(v+LayerNormEpsilon)
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, y := z[i*width:(i+1)*width], dst[i*width:(i+1)*width]
			for j, v := range x {
				n := float32((float64(v) - mean[j]) * inverse[j])
				if normalized != nil {
					normalized[i*width+j] = n
				}
				y[j] = gain[j]*n + shift[j]
			}
		}
	})
}

// BatchNormGradient sets dst to the gradient with respect to z, from the gradient grad of the
// output. The moments are of z itself: they move with it. dst may be grad.
func BatchNormGradient(dst, grad, normalized []float32, inverse []float64, gain []float32, rows, width int) {
	checkLen("BatchNormGradient", "dst", len(dst), rows*width)
	checkLen("BatchNormGradient", "grad", len(grad), rows*width)
	checkLen("BatchNormGradient", "normalized", len(normalized), rows*width)
	if rows == 0 {
		return
	}
	eachColumns(width, func(lo, hi int) {
		var sums, products [columnsAtATime]float64
		for i := range rows {
			x := normalized[i*width+lo : i*width+hi]
			for j, g := range grad[i*width+lo : i*width+hi] {
				sums[j] += float64(g)
				products[j] += float64(g) * float64(x[j])
			}
		}
		n := float64(rows)
		for i := range rows {
			x, d := normalized[i*width+lo:i*width+hi], dst[i*width+lo:i*width+hi]
			for j, g := range grad[i*width+lo : i*width+hi] {
				d[j] = float32(float64(gain[lo+j]) * inverse[lo+j] * (float64(g) - sums[j]/n - float64(x[j])*products[j]/n))
			}
		}
	})
}

// ScaleColumns sets dst to scale[j]·x + shift[j]. dst may be x.
func ScaleColumns(dst, x, scale, shift []float32, rows, width int) {
	checkLen("ScaleColumns", "dst", len(dst), rows*width)
	checkLen("ScaleColumns", "x", len(x), rows*width)
	parallel.For(rows, grain(width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			y := dst[i*width : (i+1)*width]
			for j, v := range x[i*width : (i+1)*width] {
				y[j] = scale[j]*v + shift[j]
			}
		}
	})
}
