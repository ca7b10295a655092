package study

import (
	"fmt"
	"math"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// Spread is the mean of several measurements, and their spread.
type Spread struct {
	N    int
	Mean float64
	SD   float64 // unbiased standard deviation, divided by N−1; 0 for one measurement
	SEM  float64 // standard error of the mean, SD/√N
}

// NewSpread returns the spread of values. Without values it is zero.
func NewSpread(values []float64) Spread {
	s := Spread{N: len(values)}
	n := float64(max(s.N, 1))
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= n
	var rest float64 // corrects rounding: the mean of equal values is exactly their value
	for _, v := range values {
		rest += v - s.Mean
	}
	if rest /= n; !math.IsNaN(rest) {
		s.Mean += rest
	}
	if s.N < 2 {
		return s
	}
	var squares float64
	for _, v := range values {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(squares / (n - 1))
	s.SEM = s.SD / math.Sqrt(n)
	return s
}

// SpreadOf returns the spread of a value of items.
func SpreadOf[T any](items []T, value func(T) float64) Spread {
	var values []float64
	for _, item := range items {
		values = append(values, value(item))
	}
	return NewSpread(values)
}

// Median returns the middle value, or the mean of the two middle values, or 0
// without values. values is not changed.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// String writes mean ± standard error, both to the place of the error's second digit, or the
// mean alone if there is no error.
func (s Spread) String() string { return s.With(s.SEM) }

// With writes the mean with an error as String does. Without measurements it writes a dash.
func (s Spread) With(e float64) string {
	switch {
	case s.N == 0:
		return Text(math.NaN())
	case s.N == 1 || !(e > 0) || math.IsInf(e, 0):
		return Text(s.Mean)
	}
	places := max(0, min(int(1-math.Floor(math.Log10(e))), 9))
	return fmt.Sprintf("%.*f ± %.*f", places, s.Mean, places, e)
}

// Text writes v with four significant digits, numbers from 1000 on whole, without an exponent up
// to 10¹⁵, and NaN as a dash.
func Text(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return "–"
	case a < 1e15 && (v == math.Trunc(v) || a >= 1000):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// MeanCurve averages the places x and the values y of runs. The result has a point for each
// mini-batch of the first run at which all runs have finite ones, with the error bar that bar
// returns.
func MeanCurve(name string, runs [][]train.Evaluation, x, y func(train.Evaluation) float64, bar func(Spread) float64) figure.Series {
	mean := figure.Series{Name: name}
	at := map[int][]train.Evaluation{} // by mini-batch
	for _, e := range slices.Concat(runs...) {
		if finite.Is(x(e)) && finite.Is(y(e)) {
			at[e.Batch] = append(at[e.Batch], e)
		}
	}
	if len(runs) == 0 {
		return mean
	}
	for _, e := range runs[0] {
		if all := at[e.Batch]; len(all) >= len(runs) {
			values := SpreadOf(all, y)
			mean.Add(SpreadOf(all, x).Mean, values.Mean, bar(values))
		}
	}
	return mean
}
