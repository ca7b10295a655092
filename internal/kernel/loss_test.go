package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowCrossEntropy is SoftmaxCrossEntropy and its gradient in float64.
// sensitivity is the scale of the error of each probability: rounding
// z − top costs more the larger it is.
func slowCrossEntropy(logits []float32, classes int, target []int32, weight []float32, smoothing float64) (loss float64, probs, sensitivity, grad []float64) {
	for i, y := range target {
		z := logits[i*classes : (i+1)*classes]
		top := math.Inf(-1)
		for _, v := range z {
			top = max(top, float64(v))
		}
		var total float64
		for _, v := range z {
			total += math.Exp(float64(v) - top)
		}
		w := float64(weight[i])
		if y < 0 {
			w = 0
		} else {
			for c, v := range z { // the cross-entropy with the smoothed target
				share := smoothing / float64(classes)
				if int32(c) == y {
					share += 1 - smoothing
				}
				loss += w * share * (math.Log(total) - float64(v) + top)
			}
		}
		for c, v := range z {
			p := math.Exp(float64(v)-top) / total
			probs = append(probs, p)
			sensitivity = append(sensitivity, p*(1+(top-float64(v))/10)+1e-30)
			p -= smoothing / float64(classes)
			if int32(c) == y {
				p -= 1 - smoothing
			}
			grad = append(grad, w*p)
		}
	}
	return loss, probs, sensitivity, grad
}

func drawTargets(t *rapid.T, rows, classes int) []int32 {
	low := rapid.SampledFrom([]int32{-1, 0, -1}).Draw(t, "lowest")
	if rapid.IntRange(0, 9).Draw(t, "unlabelled") == 0 {
		return rapid.SliceOfN(rapid.Just(int32(-1)), rows, rows).Draw(t, "target")
	}
	return rapid.SliceOfN(rapid.Int32Range(low, int32(classes-1)), rows, rows).Draw(t, "target")
}

func drawWeights(t *rapid.T, rows int) []float32 {
	if rapid.Bool().Draw(t, "weighted") {
		return rapid.SliceOfN(rapid.Float32Range(0, 2), rows, rows).Draw(t, "weight")
	}
	return equal(rows)
}

// equal returns the weights of a mean over rows.
func equal(rows int) []float32 { return slices.Repeat([]float32{1 / float32(max(rows, 1))}, rows) }

func TestSoftmaxCrossEntropy(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, classes := rapid.IntRange(0, 120).Draw(t, "rows"), rapid.IntRange(1, 180).Draw(t, "classes")
			logits := random(rows*classes, 1)
			spread := rapid.SampledFrom([]float32{0.1, 3, 30}).Draw(t, "spread")
			for k := range logits {
				logits[k] *= spread
			}
			target, weight := drawTargets(t, rows, classes), drawWeights(t, rows)
			smoothing := rapid.SampledFrom([]float64{0, 0.1, 0.9}).Draw(t, "smoothing")
			wantLoss, wantProbs, sensitivity, wantGrad := slowCrossEntropy(logits, classes, target, weight, smoothing)
			probs, intact := guarded(rows * classes)
			loss := SoftmaxCrossEntropy(probs, logits, classes, target, weight, smoothing)
			if math.Abs(loss-wantLoss) > 1e-6*(1+wantLoss) {
				t.Fatalf("loss %v, want %v", loss, wantLoss)
			}
			for k := range probs {
				if probs[k] == 0 && wantProbs[k] < smallestProbability {
					continue
				}
				near(t, "probability", k, probs[k], wantProbs[k], sensitivity[k], 2e-6)
			}
			grad, intact2 := guarded(rows * classes)
			SoftmaxCrossEntropyGradient(grad, probs, target, weight, 2.5, classes, smoothing)
			for k := range grad {
				// A weight is at most 2, so that the probability's own bound counts 5-fold. The
				// gradient is rounded itself: two units in its last place.
				want := 2.5 * wantGrad[k]
				near(t, "gradient", k, grad[k], want, 5*(sensitivity[k]+0.05)+math.Abs(want)/8, 2e-6)
			}
			SoftmaxCrossEntropyGradient(probs, probs, target, weight, 2.5, classes, smoothing)
			if again := SoftmaxCrossEntropy(logits, logits, classes, target, weight, smoothing); again != loss {
				t.Fatalf("loss in place %v, want %v", again, loss)
			}
			for k := range grad {
				if probs[k] != grad[k] {
					t.Fatalf("element %d in place: %v, want %v", k, probs[k], grad[k])
				}
			}
			if !intact() || !intact2() {
				t.Fatal("wrote outside dst")
			}
		})
		sameOnAnyCores(t, func() []float32 {
			logits := random(5000*40, 1)
			target := make([]int32, 5000)
			for i := range target {
				target[i] = int32(i % 41)
				target[i]--
			}
			loss := SoftmaxCrossEntropy(logits, logits, 40, target, equal(5000), 0.1)
			low, high := math.Float64bits(loss), math.Float64bits(loss)>>32
			return append(logits, math.Float32frombits(uint32(low)), math.Float32frombits(uint32(high)))
		})
	})
}

// Rows that overflow a naive softmax, and rows that Gorgonia's gets wrong.
func TestSoftmaxCrossEntropyExtremes(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	levels(t, func(t *testing.T) {
		for _, c := range []struct {
			logits []float32
			target int32
			loss   float64
		}{
			{[]float32{200, 0, 0}, 0, 0},
			{[]float32{200, 0, 0}, 1, 200},
			{[]float32{-3e38, 3e38}, 1, 0},
			{[]float32{1e4, 1e4 + 1}, 0, math.Log(1 + math.E)},
			{[]float32{-inf, 0, 0}, 1, math.Ln2},
			{[]float32{nan, 0, 0}, 1, math.NaN()},
			{[]float32{0, 0, nan}, 1, math.NaN()},
		} {
			probs := make([]float32, len(c.logits))
			got := SoftmaxCrossEntropy(probs, c.logits, len(c.logits), []int32{c.target}, []float32{1}, 0)
			if !(math.Abs(got-c.loss) <= 1e-6*(1+c.loss)) && !(got != got && c.loss != c.loss) {
				t.Errorf("loss of %v for class %d is %v, want %v", c.logits, c.target, got, c.loss)
			}
		}
	})
}

// slowBCE is BCEWithLogits and its gradient in float64.
func slowBCE(logits, target []float32, tasks int, weight []float32) (loss float64, grad []float64) {
	for i := range len(target) / tasks {
		for c := range tasks {
			x, y := float64(logits[i*tasks+c]), float64(target[i*tasks+c])
			if y != y {
				grad = append(grad, 0)
				continue
			}
			w := float64(weight[i])
			loss += w * (max(x, 0) - x*y + math.Log1p(math.Exp(-math.Abs(x))))
			grad = append(grad, w*(1/(1+math.Exp(-x))-y))
		}
	}
	return loss, grad
}

func TestBCEWithLogits(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			tasks := rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, 130), rapid.Just(1100)).Draw(t, "tasks")
			rows := rapid.IntRange(0, min(120, 3+6000/tasks)).Draw(t, "rows")
			logits := random(rows*tasks, 1)
			spread := rapid.SampledFrom([]float32{0.01, 3, 50}).Draw(t, "spread")
			target := make([]float32, rows*tasks)
			skip := rapid.SampledFrom([]int{1, 2, 3, 1 << 30}).Draw(t, "skip")
			for k := range logits {
				logits[k] *= spread
				target[k] = float32(k * 7 % 13 % 2)
				if (k+1)%skip == 0 {
					target[k] = float32(math.NaN())
				}
			}
			weight := drawWeights(t, rows)
			wantLoss, wantGrad := slowBCE(logits, target, tasks, weight)
			if loss := BCEWithLogits(logits, target, tasks, weight); !(math.Abs(loss-wantLoss) <= 1e-6*(1+wantLoss)) {
				t.Fatalf("loss %v, want %v", loss, wantLoss)
			}
			grad, intact := guarded(rows * tasks)
			BCEWithLogitsGradient(grad, logits, target, tasks, weight, -1.5)
			for k := range grad {
				near(t, "gradient", k, grad[k], -1.5*wantGrad[k], 1, 1e-6)
			}
			if !intact() {
				t.Fatal("wrote outside dst")
			}
		})
	})
	if loss := BCEWithLogits([]float32{80, -80}, []float32{0, 0}, 1, []float32{0.5, 0.5}); math.Abs(loss-40) > 1e-6 {
		t.Errorf("loss %v, want 40", loss)
	}
}

func TestAdamStep(t *testing.T) {
	levels(t, func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(0, 100), rapid.IntRange(0, 3000)).Draw(t, "n")
			cfg := Adam{LR: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: rapid.SampledFrom([]float64{0, 5e-4, 0.1}).Draw(t, "decay"), DecoupledDecay: rapid.Bool().Draw(t, "decoupled")}
			p, intact := guarded(n)
			m, intact2 := guarded(n)
			v, intact3 := guarded(n)
			copy(p, random(n, 1))
			clear(m)
			clear(v)
			p64, m64, v64 := make([]float64, n), make([]float64, n), make([]float64, n)
			for k := range p {
				p64[k] = float64(p[k])
			}
			for step := 1; step <= 5; step++ {
				g := random(n, uint64(step))
				AdamStep(p, g, m, v, step, cfg)
				for k := range g {
					d := float64(g[k])
					if cfg.DecoupledDecay {
						p64[k] -= cfg.LR * cfg.WeightDecay * p64[k]
					} else {
						d += cfg.WeightDecay * p64[k]
					}
					m64[k] = cfg.Beta1*m64[k] + (1-cfg.Beta1)*d
					v64[k] = cfg.Beta2*v64[k] + (1-cfg.Beta2)*d*d
					mHat := m64[k] / (1 - math.Pow(cfg.Beta1, float64(step)))
					vHat := v64[k] / (1 - math.Pow(cfg.Beta2, float64(step)))
					p64[k] -= cfg.LR * mHat / (math.Sqrt(vHat) + cfg.Epsilon)
				}
			}
			for k := range p {
				near(t, "parameter", k, p[k], p64[k], math.Abs(p64[k])+0.05, 1e-6)
				near(t, "first moment", k, m[k], m64[k], 1, 1e-6)
				near(t, "second moment", k, v[k], v64[k], 1, 1e-6)
			}
			if !intact() || !intact2() || !intact3() {
				t.Fatal("wrote outside the slices")
			}
		})
		sameOnAnyCores(t, func() []float32 {
			p, m, v := random(100001, 1), make([]float32, 100001), make([]float32, 100001)
			AdamStep(p, random(100001, 2), m, v, 1, Adam{0.1, 0.9, 0.999, 1e-8, 0, false, 0})
			return p
		})
	})
}

// Slices that are too short must panic before anything is written.
func TestShortSlicesPanic(t *testing.T) {
	for name, f := range map[string]func(s []float32){
		"ColumnSums": func(s []float32) { ColumnSums(s, s, nil, 2, 2) },
		"BiasRows":   func(s []float32) { BiasRows(s, s, nil, 2, 2) },
		"Activate":   func(s []float32) { Activate(ELU, s, nil, make([]float32, 4), 2, 2, Dropout{}) },
		"Multiply":   func(s []float32) { Multiply(s, make([]float32, 4), make([]float32, 4)) },
		"Softmax":    func(s []float32) { SoftmaxCrossEntropy(s, make([]float32, 4), 2, []int32{0, 0}, equal(2), 0) },
		"BCE":        func(s []float32) { BCEWithLogits(s, make([]float32, 4), 2, equal(2)) },
		"Adam":       func(s []float32) { AdamStep(make([]float32, 4), s, s, s, 1, Adam{}) },
		"Gather":     func(s []float32) { Gather(s, make([]float32, 4), []int32{0, 1}, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			s := []float32{guard, guard, guard}
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
				for _, v := range s {
					if v != guard {
						t.Error("wrote before the panic")
					}
				}
			}()
			f(s)
		})
	}
}

func BenchmarkSoftmaxCrossEntropy(b *testing.B) {
	const rows = 512
	for _, classes := range []int{40, 172} {
		logits := random(rows*classes, 1)
		probs, target := make([]float32, len(logits)), make([]int32, rows)
		b.Run(fmt.Sprintf("loss/c=%d", classes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				SoftmaxCrossEntropy(probs, logits, classes, target, equal(rows), 0)
			}
			perSecond(b, len(logits), 8)
		})
		b.Run(fmt.Sprintf("gradient/c=%d", classes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				SoftmaxCrossEntropyGradient(logits, probs, target, equal(rows), 1, classes, 0)
			}
			perSecond(b, len(logits), 8)
		})
	}
}

func BenchmarkBCEWithLogits(b *testing.B) {
	const rows = 512
	for _, tasks := range []int{1, 112} {
		logits, target := random(rows*tasks, 1), make([]float32, rows*tasks)
		grad := make([]float32, len(target))
		b.Run(fmt.Sprintf("loss/t=%d", tasks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				BCEWithLogits(logits, target, tasks, equal(rows))
			}
			perSecond(b, len(logits), 8)
		})
		b.Run(fmt.Sprintf("gradient/t=%d", tasks), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				BCEWithLogitsGradient(grad, logits, target, tasks, equal(rows), 1)
			}
			perSecond(b, len(logits), 12)
		})
	}
}

func BenchmarkAdamStep(b *testing.B) {
	const n = 110_000
	p, g, m, v := random(n, 1), random(n, 2), make([]float32, n), make([]float32, n)
	b.ReportAllocs()
	for step := 1; b.Loop(); step++ {
		AdamStep(p, g, m, v, step, Adam{1e-3, 0.9, 0.999, 1e-8, 0, false, 0})
	}
	perSecond(b, n, 28)
}
