package reproduce

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// sumAndSampleVaries compares the mean variance and the mean size of the covariances of
// stochastic sum-and-sample weights and of debiased weights. It enumerates all draws of 2 to
// 5 of 8 candidates.
func sumAndSampleVaries(evidence) (Verdict, string) {
	const candidates = 8
	larger, n := 0, 0
	for _, weigh := range []func(i int) float64{
		func(int) float64 { return 1 },
		func(i int) float64 { return 1 / float64(i+1) },
		func(i int) float64 { return math.Exp2(-float64(i)) },
	} {
		weights := make([]float64, candidates)
		for i := range weights {
			weights[i] = weigh(i)
		}
		for s := 2; s <= 5; s++ {
			ours, err := study.Enumerate(weights, s, samplers.WithoutReplacement{}, samplers.Debiased{})
			theirs, alsoErr := study.Enumerate(weights, s, samplers.WithoutReplacement{}, samplers.SumAndSample{})
			if err := cmp.Or(err, alsoErr); err != nil {
				return NotMeasured, err.Error()
			}
			variance, covariance := meanMoments(ours)
			itsVariance, itsCovariance := meanMoments(theirs)
			for _, more := range []bool{itsVariance > variance, itsCovariance > covariance} {
				n++
				if more {
					larger++
				}
			}
		}
	}
	numbers := fmt.Sprintf("larger in %d of %d comparisons", larger, n)
	if 2*larger > n {
		return Seen, numbers
	}
	return NotSeen, numbers
}

// meanMoments returns the mean of Var(β_i) and of |Cov(β_i, β_j)|.
func meanMoments(m *study.Moments) (variance, covariance float64) {
	n := float64(len(m.Cov))
	for i, row := range m.Cov {
		for j, c := range row {
			if i == j {
				variance += c / n
			} else {
				covariance += math.Abs(c) / (n * (n - 1))
			}
		}
	}
	return variance, covariance
}
