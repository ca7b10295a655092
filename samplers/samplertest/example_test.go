package samplertest_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/samplers/samplertest"
)

// Draws of two of three candidates without replacement: the weights 1/(s p) for draws
// with replacement are biased, debiased weights are not.
func ExampleMoments() {
	weights := []float64{3, 2, 1}
	for _, weight := range []samplers.Weight{samplers.Naive{}, samplers.Debiased{}} {
		mean, _, err := samplertest.Moments(samplers.WithoutReplacement{}, weight, weights, 2)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%T: E[β] = %.3f\n", weight, mean)
	}
	// Output:
	// samplers.Naive: E[β] = [0.850 1.100 1.250]
	// samplers.Debiased: E[β] = [1.000 1.000 1.000]
}
