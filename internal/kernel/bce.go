package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// BCEWithLogits returns the binary cross-entropy of independent tasks,
//
//	ℓ(x, t) = max(x, 0) − x·t + log(1 + e^−|x|)
//
// over the entries whose target is not NaN. With nil weight it is the mean over
// all of them; with a weight a row it is Σ_i weight[i] · (mean over the
// labelled tasks of row i). Rows without labels count 0. There is one row for
// every tasks entries of target.
func BCEWithLogits(logits, target []float32, tasks int, weight []float32) float64 {
	if tasks == 0 {
		return 0
	}
	rows := len(target) / tasks
	checkBCE("BCEWithLogits", logits, weight, rows, tasks)
	loss := sumRanges(rows, func(lo, hi int) float64 {
		var scratch [bceChunk]float32
		if weight == nil { // the rows do not matter
			sum, _ := bceSum(logits[lo*tasks:hi*tasks], target[lo*tasks:hi*tasks], &scratch)
			return sum
		}
		var sum float64
		for i := lo; i < hi; i++ {
			row, labelled := bceSum(logits[i*tasks:(i+1)*tasks], target[i*tasks:(i+1)*tasks], &scratch)
			sum += row * float64(weight[i]) / float64(max(labelled, 1))
		}
		return sum
	})
	if weight == nil {
		loss /= float64(max(labelledTasks(target[:rows*tasks]), 1))
	}
	return loss
}

func checkBCE(function string, logits, weight []float32, rows, tasks int) {
	checkLen(function, "logits", len(logits), rows*tasks)
	if weight != nil {
		checkLen(function, "weight", len(weight), rows)
	}
}

// bceChunk is how many entries' losses share one logarithm: Σ log(1+u) is taken
// as the logarithm of products, whose factors are at most 2, so that hundreds
// of them fit a float64.
const bceChunk = 512

// bceSum returns the sum of the entries' losses and how many it is over.
func bceSum(x, t []float32, e *[bceChunk]float32) (sum float64, labelled int) {
	for len(x) > 0 {
		n := min(len(x), bceChunk)
		expAbs(e[:n], x[:n])
		product := [2]float64{1, 1} // two, so that their latencies overlap
		for k, v := range x[:n] {
			y := t[k]
			if y != y {
				continue
			}
			labelled++
			sum += float64(max(v, 0)) - float64(v)*float64(y)
			product[k&1] *= 1 + float64(e[k])
		}
		sum += math.Log(product[0]) + math.Log(product[1])
		x, t = x[n:], t[n:]
	}
	return sum, labelled
}

// expAbsGo is the portable form of expAbs.
func expAbsGo(dst, x []float32) {
	for k, v := range x {
		dst[k], _ = expNeg(-abs(v))
	}
}

func abs(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// labelledTasks returns how many targets are not NaN.
func labelledTasks(target []float32) int {
	n := 0
	for _, t := range target {
		if t == t {
			n++
		}
	}
	return n
}

// BCEWithLogitsGradient sets dst to the gradient of BCEWithLogits with respect
// to the logits, times upstream: (sigmoid(x) − t) times the entry's share of
// the mean, and zero where the target is NaN. Values of a magnitude below 1e-20 become 0. dst
// may be logits.
func BCEWithLogitsGradient(dst, logits, target []float32, tasks int, weight []float32, upstream float32) {
	if tasks == 0 {
		return
	}
	rows := len(target) / tasks
	checkLen("BCEWithLogitsGradient", "dst", len(dst), rows*tasks)
	checkBCE("BCEWithLogitsGradient", logits, weight, rows, tasks)
	mean := 1.0
	if weight == nil {
		mean = 1 / float64(max(labelledTasks(target[:rows*tasks]), 1))
	}
	parallel.For(rows, grain(4*tasks), func(lo, hi int) {
		if weight == nil {
			bceGradient(dst[lo*tasks:hi*tasks], logits[lo*tasks:hi*tasks], target[lo*tasks:hi*tasks], float32(float64(upstream)*mean))
			flushSmall(dst[lo*tasks : hi*tasks])
			return
		}
		for i := lo; i < hi; i++ {
			t := target[i*tasks : (i+1)*tasks]
			share := float64(upstream) * float64(weight[i]) / float64(max(labelledTasks(t), 1))
			bceGradient(dst[i*tasks:(i+1)*tasks], logits[i*tasks:(i+1)*tasks], t, float32(share))
		}
		flushSmall(dst[lo*tasks : hi*tasks])
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
		dst[k] = share * (sigmoid(v) - y)
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
