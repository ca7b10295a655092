package study

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"
)

func TestSpread(t *testing.T) {
	values := []float64{2, 4, 4, 5, 10} // mean 5, squares 9+1+1+0+25 = 36, variance 9
	s := NewSpread(values)
	if s.N != 5 || s.Mean != 5 || s.SD != 3 || math.Abs(s.SEM-3/math.Sqrt(5)) > 1e-15 {
		t.Errorf("spread %+v", s)
	}
	mean, sd := stat.MeanStdDev(values, nil)
	near(t, "mean", s.Mean, mean, 1e-15)
	near(t, "sd", s.SD, sd, 1e-15)
	if s := NewSpread([]float64{7}); s != (Spread{N: 1, Mean: 7}) {
		t.Errorf("spread of one: %+v", s)
	}
	if s := NewSpread(nil); s != (Spread{}) {
		t.Errorf("spread of none: %+v", s)
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 4}, 4}, {[]float64{9, 1, 4, 2}, 3}} {
		if got := Median(c.values); got != c.want {
			t.Errorf("median of %v is %v", c.values, got)
		}
	}
}

// TestSpreadOfEqual checks that equal values have standard deviation 0, and
// exactly their value as the mean.
func TestSpreadOfEqual(t *testing.T) {
	for _, v := range []float64{0.1, 0.35, 0.7, -1e-3, 1e300} {
		for n := 1; n < 20; n++ {
			values := make([]float64, n)
			for k := range values {
				values[k] = v
			}
			if s := NewSpread(values); s.Mean != v && !math.IsInf(s.Mean, 0) || s.SD != 0 {
				t.Errorf("%d times %v: mean %v, standard deviation %v", n, v, s.Mean, s.SD)
			}
		}
	}
}
