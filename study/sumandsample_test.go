package study_test

import (
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// Section 5.6 of the paper: stochastic sum-and-sample weights usually have the larger
// (co)variance. Here they have it in each of 24 comparisons of means over 8 candidates, of
// which 2 to 5 are drawn.
func TestSumAndSampleVariesMore(t *testing.T) {
	means := func(weights []float64, s int, w samplers.Weight) (variance, covariance float64) {
		m, err := study.Enumerate(weights, s, samplers.WithoutReplacement{}, w)
		if err != nil {
			t.Fatal(err)
		}
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
	for name, weigh := range map[string]func(i int) float64{
		"uniform":   func(int) float64 { return 1 },
		"zipf":      func(i int) float64 { return 1 / float64(i+1) },
		"geometric": func(i int) float64 { return math.Exp2(-float64(i)) },
	} {
		weights := make([]float64, 8)
		for i := range weights {
			weights[i] = weigh(i)
		}
		for s := 2; s <= 5; s++ {
			variance, covariance := means(weights, s, samplers.Debiased{})
			itsVariance, itsCovariance := means(weights, s, samplers.SumAndSample{})
			if !(itsVariance > variance) || !(itsCovariance > covariance) {
				t.Errorf("%s weights, %d draws: variance %v and covariance %v, of debiased weights %v and %v", name, s, itsVariance, itsCovariance, variance, covariance)
			}
		}
	}
}
