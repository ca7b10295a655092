package ops

import (
	"math"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// TestClassWeights compares the rows' weights with the mean over the labelled rows, and with
// given weights, each times the weight of the row's class.
func TestClassWeights(t *testing.T) {
	targets := NewTargets(&graph.Labels{Classes: 3, Class: []int32{2, -1, 0, 2}})
	if err := targets.WeighClasses([]float32{3, 5, 0.5}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ given, want []float32 }{
		{nil, []float32{0.5 / 3, 1. / 3, 1, 0.5 / 3}}, // row 1 has no label, so its weight has no effect
		{[]float32{2, 7, 4, 0}, []float32{1, 7, 12, 0}},
	} {
		if err := targets.Set([]int32{0, 1, 2, 3}, c.given); err != nil {
			t.Fatal(err)
		}
		for i, want := range c.want {
			if got := targets.shares[i]; math.Abs(float64(got-want)) > 1e-6 {
				t.Errorf("weights %v: row %d has %v, want %v", c.given, i, got, want)
			}
		}
	}
}
