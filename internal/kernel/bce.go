package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// BCEWithLogits returns the binary cross-entropy of independent tasks,
//
//	ℓ(x, t) = max(x, 0) − x·t + log(1 + e^−|x|)
//
// over the entries whose target is not NaN, each times the weight of its row. There is one row for
// every tasks entries of target.
func BCEWithLogits(logits, target []float32, tasks int, weight []float32) float64 {
	if tasks == 0 {
		return 0
	}
	rows := len(target) / tasks
	checkLen("BCEWithLogits", "logits", len(logits), rows*tasks)
	checkLen("BCEWithLogits", "weight", len(weight), rows)
	return sumRanges(rows, func(lo, hi int) (sum float64) {
		var scratch [bceChunk]float32
		eachRun(weight[lo:hi], func(first, end int) {
			from, to := (lo+first)*tasks, (lo+end)*tasks
			sum += float64(weight[lo+first]) * bceSum(logits[from:to], target[from:to], &scratch)
		})
		return sum
	})
}

// eachRun calls f for each run of equal weights: the losses of such rows are summed as one row.
func eachRun(weight []float32, f func(first, end int)) {
	for lo, hi := 0, 0; lo < len(weight); lo = hi {
		for hi = lo + 1; hi < len(weight) && weight[hi] == weight[lo]; hi++ {
		}
		f(lo, hi)
	}
}

// bceChunk is how many entries' losses share one logarithm: Σ log(1+u) is taken
// as the logarithm of products, whose factors are at most 2, so that hundreds
// of them fit a float64.
const bceChunk = 512

// bceSum returns the sum of the entries' losses.
func bceSum(x, t []float32, e *[bceChunk]float32) (sum float64) {
	for len(x) > 0 {
		n := min(len(x), bceChunk)
		expAbs(e[:n], x[:n])
		product := [2]float64{1, 1} // two, so that their latencies overlap
		for k, v := range x[:n] {
			y := t[k]
			if y != y {
				continue
			}
			sum += float64(max(v, 0)) - float64(v)*float64(y)
			product[k&1] *= 1 + float64(e[k])
		}
		sum += math.Log(product[0]) + math.Log(product[1])
		x, t = x[n:], t[n:]
	}
	return sum
}

// expAbsGo is the portable form of expAbs.
func expAbsGo(dst, x []float32) {
	for k, v := range x {
		dst[k], _ = expNeg(-abs(v))
	}
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// BCEWithLogitsGradient sets dst to the gradient of BCEWithLogits with respect to the logits, times
// upstream: (sigmoid(x) − t) times the row's weight, and zero where the target is NaN; a sigmoid
// below 1e-14 is 0. dst may be logits.
func BCEWithLogitsGradient(dst, logits, target []float32, tasks int, weight []float32, upstream float32) {
	if tasks == 0 {
		return
	}
	rows := len(target) / tasks
	checkLens("BCEWithLogitsGradient", rows*tasks, dst, logits)
	checkLen("BCEWithLogitsGradient", "weight", len(weight), rows)
	parallel.For(rows, grain(4*tasks), func(lo, hi int) {
		eachRun(weight[lo:hi], func(first, end int) {
			from, to := (lo+first)*tasks, (lo+end)*tasks
			bceGradient(dst[from:to], logits[from:to], target[from:to], upstream*weight[lo+first])
		})
	})
}

// bceGradientGo is the portable form of bceGradient.
func bceGradientGo(dst, x, t []float32, share float32) {
	for k, v := range x {
		y := t[k]
		if y != y {
			dst[k] = 0
			continue
		}
		p := sigmoid(v)
		if p < smallestProbability {
			p = 0
		}
		dst[k] = share * (p - y)
	}
}

// sigmoid returns 1/(1+e^−x) without overflow.
func sigmoid(x float32) float32 {
	e, _ := expNeg(-abs(x))
	if x < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}
