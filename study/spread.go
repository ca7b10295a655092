package study

import "math"

// Spread is the mean of several measurements and how far they scatter.
type Spread struct {
	N    int
	Mean float64
	SD   float64 // unbiased standard deviation, divided by N−1; 0 for one measurement
	SEM  float64 // standard error of the mean, SD/√N
}

// NewSpread returns the spread of values; the zero Spread for none.
func NewSpread(values []float64) Spread {
	s := Spread{N: len(values)}
	if s.N == 0 {
		return s
	}
	for _, v := range values {
		s.Mean += v
	}
	s.Mean /= float64(s.N)
	if s.N == 1 {
		return s
	}
	var squares float64
	for _, v := range values {
		squares += (v - s.Mean) * (v - s.Mean)
	}
	s.SD = math.Sqrt(squares / float64(s.N-1))
	s.SEM = s.SD / math.Sqrt(float64(s.N))
	return s
}
