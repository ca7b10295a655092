package study

import (
	"math"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
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

func TestText(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 3: "3", -2: "-2", 512: "512", 123456: "123456", 1234.5: "1234", 0.5: "0.5", 2.0 / 3: "0.6667",
		1e-7: "1e-07", 1.5e9: "1500000000", 21960000.4: "21960000", 1.5e15: "1.5e+15", math.Inf(1): "+Inf",
	} {
		if got := Text(v); got != want {
			t.Errorf("Text(%v) = %q, want %q", v, got, want)
		}
	}
	if got := Text(math.NaN()); got != "–" {
		t.Errorf("NaN is written %s", got)
	}
	for _, c := range []struct {
		s    Spread
		want string
	}{
		{Spread{N: 5, Mean: 71.238, SEM: 0.31}, "71.24 ± 0.31"},
		{Spread{N: 5, Mean: 7123.8, SEM: 31}, "7124 ± 31"},
		{Spread{N: 1, Mean: 0.25}, "0.25"},
		{Spread{N: 3, Mean: 0.25}, "0.25"},
		{Spread{}, "–"},
	} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%v ± %v is written %q, want %q", c.s.Mean, c.s.SEM, got, c.want)
		}
	}
}

// TestMeanCurve averages two runs, of which the second is shorter, with a value that is not
// finite.
func TestMeanCurve(t *testing.T) {
	at := func(batch int, y float64) train.Evaluation { return train.Evaluation{Batch: batch, Valid: y} }
	x := func(e train.Evaluation) float64 { return 10 * e.Valid }
	y := func(e train.Evaluation) float64 { return e.Valid }
	runs := [][]train.Evaluation{{at(1, 1), at(2, 2), at(3, 3), at(4, 4)}, {at(1, 3), at(3, 4), at(2, math.NaN())}}
	got := MeanCurve("a", runs, x, y, func(s Spread) float64 { return float64(s.N) })
	want := figure.Series{Name: "a", X: []float64{20, 35}, Y: []float64{2, 3.5}, Error: []float64{2, 2}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for _, runs := range [][][]train.Evaluation{nil, {{at(1, 1)}, {at(2, 1)}}} {
		if got := MeanCurve("a", runs, x, y, nil); got.X != nil {
			t.Errorf("a mean of nothing: %+v", got)
		}
	}
}
