package kernel

import (
	"math"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// lossParts bounds how many partial sums a loss is cut into. The cut depends
// on the number of rows alone.
const lossParts = 64

// sumRanges adds up part over the ranges of the rows, in order.
func sumRanges(rows int, part func(lo, hi int) float64) float64 {
	size := max(64, (rows+lossParts-1)/lossParts)
	if rows <= size {
		return part(0, rows)
	}
	var sums [lossParts]float64
	parallel.For(rows, size, func(lo, hi int) { sums[lo/size] = part(lo, hi) })
	var total float64
	for _, s := range sums {
		total += s
	}
	return total
}

// SoftmaxCrossEntropy sets each row of probs to the softmax of the same row of
// logits and returns the loss
//
//	Σ_i weight[i] · −log probs[i][target[i]]
//
// over the rows whose target is not −1; there is one row a target. Label smoothing takes
// (1−smoothing)·onehot + smoothing/classes as the target (Szegedy et al. 2016,
// arXiv:1512.00567). A probability below 1e-14 of the row's largest becomes 0; its loss stays
// finite, for the logarithm is taken of the softmax's sum in float64. probs may be logits.
func SoftmaxCrossEntropy(probs, logits []float32, classes int, target []int32, weight []float32, smoothing float64) float64 {
	rows := len(target)
	checkLens("SoftmaxCrossEntropy", rows*classes, probs, logits)
	checkLen("SoftmaxCrossEntropy", "weight", len(weight), rows)
	if rows == 0 || classes == 0 {
		return 0
	}
	return sumRanges(rows, func(lo, hi int) float64 {
		var sum float64
		for i := lo; i < hi; i++ {
			z := rowOf(logits, i, classes)
			zt := z[max(target[i], 0)] // read now: probs may be logits
			var smoothed float64
			if smoothing != 0 {
				smoothed = smoothing * (float64(zt) - mean(z))
			}
			top, total := softmaxRow(rowOf(probs, i, classes), z)
			if target[i] < 0 {
				continue
			}
			sum += float64(weight[i]) * (math.Log(float64(total)) - (float64(zt) - float64(top)) + smoothed)
		}
		return sum
	})
}

// mean returns the mean of x.
func mean(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// smallestProbability is the least probability in a gradient: a smaller one becomes 0. The parameters
// do not feel it, since Adam's epsilon is 1e-8. Products with it would be denormal numbers, for which
// a processor takes a hundred times as long: where a model knew all training nodes, a step took 30
// times as long.
const smallestProbability = 1e-14

// softmaxRowGo is the portable form of softmaxRow.
func softmaxRowGo(p, z []float32) (top, total float32) {
	top = z[0]
	for _, v := range z[1:] {
		top = max(top, v) // NaN wins, and makes the row NaN
	}
	p = p[:len(z)]
	for j, v := range z {
		e, _ := expNeg(v - top)
		if e < smallestProbability {
			e = 0
		}
		p[j] = e
		total += e
	}
	scaleTo(p, 1/total, p)
	return top, total
}

// SoftmaxCrossEntropyGradient sets dst to the gradient of SoftmaxCrossEntropy
// with respect to the logits, times upstream: row i is
// upstream·weight[i]·(probs[i] − onehot(target[i])), and zero where the target
// is −1; with smoothing, the smoothed target takes the place of onehot. dst may
// be probs.
func SoftmaxCrossEntropyGradient(dst, probs []float32, target []int32, weight []float32, upstream float32, classes int, smoothing float64) {
	rows := len(target)
	checkLens("SoftmaxCrossEntropyGradient", rows*classes, dst, probs)
	checkLen("SoftmaxCrossEntropyGradient", "weight", len(weight), rows)
	even := float32(smoothing / float64(max(classes, 1)))
	parallel.For(rows, grain(classes), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d := rowOf(dst, i, classes)
			if target[i] < 0 {
				clear(d)
				continue
			}
			s := upstream * weight[i]
			scaleTo(d, s, rowOf(probs, i, classes))
			if smoothing == 0 {
				d[target[i]] -= s
				continue
			}
			for j := range d {
				d[j] -= s * even
			}
			d[target[i]] -= s * float32(1-smoothing)
		}
	})
}
