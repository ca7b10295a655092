package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// LayerNormEpsilon is added to each row's variance, as in PyTorch.
const LayerNormEpsilon = 1e-5

// LayerNorm normalises each row of z to mean 0 and variance 1 and maps column j
// by gain[j]·x + shift[j] (Ba, Kiros & Hinton 2016, arXiv:1607.06450):
//
//	dst = gain·x̂ + shift,   x̂ = (z − mean)/√(variance + LayerNormEpsilon)
//
// Where normalized is not nil it is set to x̂, and inverse[i] to the factor of
// row i, for the gradient. Mean and variance are summed in float64. dst may be
// z.
func LayerNorm(dst, normalized, inverse, z, gain, shift []float32, rows, width int) {
	checkLen("LayerNorm", "dst", len(dst), rows*width)
	checkLen("LayerNorm", "z", len(z), rows*width)
	checkLen("LayerNorm", "gain", len(gain), width)
	checkLen("LayerNorm", "shift", len(shift), width)
	if normalized != nil {
		checkLen("LayerNorm", "normalized", len(normalized), rows*width)
		checkLen("LayerNorm", "inverse", len(inverse), rows)
	}
	if width == 0 {
		return
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x, y := z[i*width:(i+1)*width], dst[i*width:(i+1)*width]
			mean, factor := rowMoments(x)
			if normalized == nil {
				for j, v := range x {
					y[j] = gain[j]*float32((float64(v)-mean)*factor) + shift[j]
				}
				continue
			}
			inverse[i] = float32(factor)
			kept := normalized[i*width : (i+1)*width]
			for j, v := range x {
				n := float32((float64(v) - mean) * factor)
				kept[j], y[j] = n, gain[j]*n+shift[j]
			}
		}
	})
}

// rowMoments returns the mean of x and the inverse of its deviation.
func rowMoments(x []float32) (mean, factor float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	var variance float64
	for _, v := range x {
		d := float64(v) - mean
		variance += d * d
	}
	return mean, 1 / math.Sqrt(variance/float64(len(x))+LayerNormEpsilon)
}

// LayerNormGradient sets dst to the gradient of LayerNorm with respect to z, of
// which it needs the normalized rows, their factors and the gradient of its
// output:
//
//	dst_i = inverse_i · (g − mean(g) − x̂_i·mean(g·x̂_i)),   g = gain·grad_i
func LayerNormGradient(dst, grad, normalized, inverse, gain []float32, rows, width int) {
	checkLen("LayerNormGradient", "dst", len(dst), rows*width)
	checkLen("LayerNormGradient", "grad", len(grad), rows*width)
	checkLen("LayerNormGradient", "normalized", len(normalized), rows*width)
	checkLen("LayerNormGradient", "inverse", len(inverse), rows)
	checkLen("LayerNormGradient", "gain", len(gain), width)
	if width == 0 {
		return
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			g, x, y := grad[i*width:(i+1)*width], normalized[i*width:(i+1)*width], dst[i*width:(i+1)*width]
			var sum, along float64
			for j, v := range g {
				scaled := float64(v) * float64(gain[j])
				sum += scaled
				along += scaled * float64(x[j])
			}
			sum /= float64(width)
			along /= float64(width)
			for j, v := range g {
				y[j] = float32(float64(inverse[i]) * (float64(v)*float64(gain[j]) - sum - float64(x[j])*along))
			}
		}
	})
}
