package kernel

import "testing"

// TestLossGradientIsNotDenormal checks that sure predictions leave no values in the gradient
// whose products are denormal, and that the others stay.
func TestLossGradientIsNotDenormal(t *testing.T) {
	logits := []float32{0, -30, -60, -90}
	probs, got := make([]float32, 4), make([]float32, 4)
	SoftmaxCrossEntropy(probs, logits, 4, []int32{1}, []float32{1}, 0)
	SoftmaxCrossEntropyGradient(got, probs, []int32{1}, []float32{1}, 1, 4, 0)
	if !(got[0] > 0.9 && got[1] < -0.9) || got[2] != 0 || got[3] != 0 {
		t.Errorf("softmax: %v, want about 1, about -1, 0 and 0", got)
	}
	BCEWithLogitsGradient(got, logits, []float32{0, 0, 0, 1}, 4, []float32{0.25}, 1)
	if !(got[0] > 0.1 && got[1] > 1e-15 && got[1] < 1e-13 && got[3] < -0.2) || got[2] != 0 {
		t.Errorf("tasks: %v, want 0 in place of the third value only", got)
	}
}
