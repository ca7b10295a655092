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
	checkLens("LayerNorm", rows*width, dst, z, normalized)
	checkLens("LayerNorm", width, gain, shift)
	checkLens("LayerNorm", rows, inverse)
	if width == 0 {
		return
	}
	if normalized == nil {
		normalized = dst
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		var mean, factor [rowsAtATime]float64
		for i := lo; i < hi; i += rowsAtATime {
			n := min(rowsAtATime, hi-i)
			rowMoments(&mean, &factor, z[i*width:(i+n)*width], n, width)
			for r := range n {
				at := (i + r) * width
				normalizeRow(dst[at:], normalized[at:], z[at:][:width], gain, shift, mean[r], factor[r])
				if inverse != nil {
					inverse[i+r] = float32(factor[r])
				}
			}
		}
	})
}

// rowsAtATime is the number of rows that are summed together. Each addition of a sum waits for
// the one before, so several sums take as long as one.
const rowsAtATime = 4

// rowMoments sets mean and factor to the means of the rows of x and the inverses of their
// deviations.
func rowMoments(mean, factor *[rowsAtATime]float64, x []float32, rows, width int) {
	if rows < rowsAtATime {
		for r := range rows {
			mean[r], factor[r] = oneRowMoments(rowOf(x, r, width))
		}
		return
	}
	x0 := x[:width]
	x1, x2, x3 := x[width:][:len(x0)], x[2*width:][:len(x0)], x[3*width:][:len(x0)]
	var m0, m1, m2, m3 float64
	for j, v := range x0 {
		m0 += float64(v)
		m1 += float64(x1[j])
		m2 += float64(x2[j])
		m3 += float64(x3[j])
	}
	n := float64(width)
	m0, m1, m2, m3 = m0/n, m1/n, m2/n, m3/n
	var s0, s1, s2, s3 float64
	for j, v := range x0 {
		d0, d1, d2, d3 := float64(v)-m0, float64(x1[j])-m1, float64(x2[j])-m2, float64(x3[j])-m3
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	*mean = [rowsAtATime]float64{m0, m1, m2, m3}
	for r, s := range [rowsAtATime]float64{s0, s1, s2, s3} {
		factor[r] = 1 / math.Sqrt(s/n+LayerNormEpsilon)
	}
}

func oneRowMoments(x []float32) (mean, factor float64) {
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
	checkLens("LayerNormGradient", rows*width, dst, grad, normalized)
	checkLen("LayerNormGradient", "inverse", len(inverse), rows)
	checkLen("LayerNormGradient", "gain", len(gain), width)
	if width == 0 {
		return
	}
	parallel.For(rows, grain(4*width), func(lo, hi int) {
		var sum, along [rowsAtATime]float64
		for i := lo; i < hi; i += rowsAtATime {
			n := min(rowsAtATime, hi-i)
			rowDots(&sum, &along, grad[i*width:(i+n)*width], normalized[i*width:(i+n)*width], gain[:width], n)
			for r := range n {
				at := (i + r) * width
				layerNormBack(dst[at:], grad[at:][:width], normalized[at:], gain, float64(inverse[i+r]), sum[r], along[r])
			}
		}
	})
}

// rowDots sets sum to the means of gain·g over the rows of g, and along to the means of
// gain·g·x.
func rowDots(sum, along *[rowsAtATime]float64, g, x, gain []float32, rows int) {
	width := len(gain)
	n := float64(width)
	if rows < rowsAtATime {
		for r := range rows {
			g, x := rowOf(g, r, width), rowOf(x, r, width)
			var s, a float64
			for j, v := range g {
				scaled := float64(v) * float64(gain[j])
				s += scaled
				a += scaled * float64(x[j])
			}
			sum[r], along[r] = s/n, a/n
		}
		return
	}
	g0, g1, g2, g3 := g[:width], g[width:][:width], g[2*width:][:width], g[3*width:][:width]
	x0, x1, x2, x3 := x[:width], x[width:][:width], x[2*width:][:width], x[3*width:][:width]
	var s0, s1, s2, s3, a0, a1, a2, a3 float64
	for j, v := range gain {
		scale := float64(v)
		v0, v1, v2, v3 := float64(g0[j])*scale, float64(g1[j])*scale, float64(g2[j])*scale, float64(g3[j])*scale
		s0 += v0
		s1 += v1
		s2 += v2
		s3 += v3
		a0 += v0 * float64(x0[j])
		a1 += v1 * float64(x1[j])
		a2 += v2 * float64(x2[j])
		a3 += v3 * float64(x3[j])
	}
	*sum = [rowsAtATime]float64{s0 / n, s1 / n, s2 / n, s3 / n}
	*along = [rowsAtATime]float64{a0 / n, a1 / n, a2 / n, a3 / n}
}

// The portable forms compute the elements from k on.

func normalizeRowGo(y, kept, x, gain, shift []float32, mean, factor float64, k int) {
	for j := k; j < len(x); j++ {
		n := float32((float64(x[j]) - mean) * factor)
		kept[j] = n
		y[j] = gain[j]*n + shift[j]
	}
}

func layerNormBackGo(d, g, x, gain []float32, inverse, sum, along float64, k int) {
	for j := k; j < len(g); j++ {
		d[j] = float32(inverse * (float64(g[j])*float64(gain[j]) - sum - float64(x[j])*along))
	}
}
