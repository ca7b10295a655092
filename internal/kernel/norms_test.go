package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// exactly compares got with want, bit for bit.
func exactly[F float32 | float64](t *rapid.T, what string, got, want []F) {
	t.Helper()
	for k := range want {
		if math.Float64bits(float64(got[k])) != math.Float64bits(float64(want[k])) {
			t.Fatalf("%s: element %d is %v, want %v exactly", what, k, got[k], want[k])
		}
	}
}

// slowBatchNorm is the norm over columns and its gradient, one column after another, in the
// order of the rows.
func slowBatchNorm(z, grad, gain, shift []float32, rows, width int) (mean, variance, inverse []float64, y, normalized, dz, products []float32) {
	mean, variance, inverse = make([]float64, width), make([]float64, width), make([]float64, width)
	y, normalized, dz = make([]float32, rows*width), make([]float32, rows*width), make([]float32, rows*width)
	products = make([]float32, width)
	n := float64(rows)
	for j := range width {
		for i := range rows {
			mean[j] += float64(z[i*width+j])
		}
		mean[j] /= n
		for i := range rows {
			d := float64(z[i*width+j]) - mean[j]
			variance[j] += d * d
		}
		variance[j] /= n
		inverse[j] = 1 / math.Sqrt(variance[j]+LayerNormEpsilon)
		var sum, dot, product float64
		for i := range rows {
			k := i*width + j
			normalized[k] = float32((float64(z[k]) - mean[j]) * inverse[j])
			y[k] = gain[j] * normalized[k]
			y[k] += shift[j]
			sum += float64(grad[k])
			dot += float64(grad[k]) * float64(normalized[k])
			product += float64(grad[k] * normalized[k])
		}
		for i := range rows {
			k := i*width + j
			dz[k] = float32(float64(gain[j]) * inverse[j] * (float64(grad[k]) - sum/n - float64(normalized[k])*dot/n))
		}
		products[j] = float32(product)
	}
	return
}

func TestBatchNorm(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, width := rapid.IntRange(1, 60).Draw(t, "rows"), drawWidth(t)
			z, grad, gain, shift := random(rows*width, 1), random(rows*width, 2), random(width, 3), random(width, 4)
			mean, variance, inverse, y, normalized, dz, products := slowBatchNorm(z, grad, gain, shift, rows, width)

			gotMean, gotVariance, gotInverse := make([]float64, width), make([]float64, width), make([]float64, width)
			BatchMoments(gotMean, gotVariance, z, rows, width)
			exactly(t, "mean", gotMean, mean)
			exactly(t, "variance", gotVariance, variance)
			dst, intact := guarded(rows * width)
			kept, intact2 := guarded(rows * width)
			BatchNorm(dst, kept, gotInverse, mean, variance, z, gain, shift, rows, width)
			exactly(t, "inverse", gotInverse, inverse)
			exactly(t, "output", dst, y)
			exactly(t, "normalized", kept, normalized)
			BatchNorm(dst, nil, gotInverse, mean, variance, z, gain, shift, rows, width)
			exactly(t, "output alone", dst, y)
			BatchNormGradient(dst, grad, kept, inverse, gain, rows, width)
			exactly(t, "gradient", dst, dz)
			sums, intact3 := guarded(width)
			ColumnProducts(sums, grad, kept, rows, width)
			exactly(t, "products", sums, products)
			BatchNormGradient(grad, grad, kept, inverse, gain, rows, width)
			exactly(t, "gradient in place", grad, dz)
			if !intact() || !intact2() || !intact3() {
				t.Fatal("wrote outside a matrix")
			}
		})
		sameOnAnyCores(t, func() []float32 {
			const rows, width = 500, 300
			mean, variance, inverse := make([]float64, width), make([]float64, width), make([]float64, width)
			dst, kept := make([]float32, rows*width), make([]float32, rows*width)
			gain := random(width, 2)
			z := random(rows*width, 1)
			BatchMoments(mean, variance, z, rows, width)
			BatchNorm(dst, kept, inverse, mean, variance, z, gain, gain, rows, width)
			BatchNormGradient(dst, dst, kept, inverse, gain, rows, width)
			return dst
		})
	})
}

func TestLayerNorm(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, width := rapid.IntRange(0, 60).Draw(t, "rows"), drawWidth(t)
			z, grad, gain, shift := random(rows*width, 1), random(rows*width, 2), random(width, 3), random(width, 4)
			dst, intact := guarded(rows * width)
			kept, intact2 := guarded(rows * width)
			inverse, intact3 := guarded(rows)
			LayerNorm(dst, kept, inverse, z, gain, shift, rows, width)
			alone, back := make([]float32, rows*width), make([]float32, rows*width)
			LayerNorm(alone, nil, nil, z, gain, shift, rows, width)
			LayerNormGradient(back, grad, kept, inverse, gain, rows, width)
			for i := range rows {
				x, g, k := z[i*width:(i+1)*width], grad[i*width:(i+1)*width], kept[i*width:(i+1)*width]
				var mean, variance float64
				for _, v := range x {
					mean += float64(v)
				}
				mean /= float64(width)
				for _, v := range x {
					d := float64(v) - mean
					variance += d * d
				}
				factor := 1 / math.Sqrt(variance/float64(width)+LayerNormEpsilon)
				normalized, y := make([]float32, width), make([]float32, width)
				var sum, along float64
				for j, v := range x {
					normalized[j] = float32((float64(v) - mean) * factor)
					y[j] = gain[j] * normalized[j]
					y[j] += shift[j]
					scaled := float64(g[j]) * float64(gain[j])
					sum += scaled
					along += scaled * float64(normalized[j])
				}
				sum /= float64(width)
				along /= float64(width)
				want := make([]float32, width)
				for j, v := range g {
					want[j] = float32(float64(float32(factor)) * (float64(v)*float64(gain[j]) - sum - float64(normalized[j])*along))
				}
				exactly(t, "inverse", inverse[i:i+1], []float32{float32(factor)})
				exactly(t, "normalized", k, normalized)
				exactly(t, "output", dst[i*width:(i+1)*width], y)
				exactly(t, "output alone", alone[i*width:(i+1)*width], y)
				exactly(t, "gradient", back[i*width:(i+1)*width], want)
			}
			LayerNorm(z, nil, nil, z, gain, shift, rows, width)
			exactly(t, "output in place", z, alone)
			if !intact() || !intact2() || !intact3() {
				t.Fatal("wrote outside a matrix")
			}
		})
	})
}

func BenchmarkNorms(b *testing.B) {
	const rows, width = 4096, 512
	z, grad, dst, kept := random(rows*width, 1), random(rows*width, 2), make([]float32, rows*width), make([]float32, rows*width)
	gain, inverse := random(width, 3), make([]float32, rows)
	mean, variance, factor := make([]float64, width), make([]float64, width), make([]float64, width)
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"LayerNorm", func() { LayerNorm(dst, kept, inverse, z, gain, gain, rows, width) }},
		{"LayerNormGradient", func() { LayerNormGradient(dst, grad, kept, inverse, gain, rows, width) }},
		{"BatchMoments", func() { BatchMoments(mean, variance, z, rows, width) }},
		{"BatchNorm", func() { BatchNorm(dst, kept, factor, mean, variance, z, gain, gain, rows, width) }},
		{"BatchNormGradient", func() { BatchNormGradient(dst, grad, kept, factor, gain, rows, width) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4 * rows * width)
			for b.Loop() {
				c.run()
			}
		})
	}
}
