package bench

import "testing"

func TestMedianAndDeviation(t *testing.T) {
	if m := median([]float64{5, 1, 3}); m != 3 {
		t.Errorf("median %v, want 3", m)
	}
	if m := median([]float64{5, 1, 3, 2}); m != 2.5 {
		t.Errorf("median %v, want 2.5", m)
	}
	if m, s := meanAndDeviation([]float64{2, 4, 6}); m != 4 || s != 2 {
		t.Errorf("mean %v, deviation %v, want 4 and 2", m, s)
	}
}
