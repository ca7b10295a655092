package study

import (
	"math"
	"math/bits"
	"slices"
)

// sizesUpTo returns the sizes to measure: most, a half and a quarter of it, where
// curves bend as the candidates run out. Below them each size is a quarter of the next,
// down to 32.
func sizesUpTo(most int) []int {
	sizes := []int{most}
	for s := most / 2; s >= 32; s /= 4 {
		sizes = append(sizes, s)
		if len(sizes) == 2 && s/2 >= 32 {
			s /= 2
			sizes = append(sizes, s)
		}
	}
	slices.Reverse(sizes)
	return sizes
}

// nextSize returns the size after s in 32, 40, 48, 56, 64, 80 …: powers of two, and
// three equal steps between each two.
func nextSize(s int) int {
	return s + 1<<(bits.Len(uint(s))-3)
}

// sizes lists the sample sizes measured.
func (t *ErrorTable) sizes() []int {
	var sizes []int
	for _, r := range t.Rows {
		if r.Method == t.Rows[0].Method {
			sizes = append(sizes, r.Samples)
		}
	}
	return sizes
}

// interpolate returns a method's error over the signal at a size between two
// measured ones. It interpolates the error's square linearly in 1/s, as the
// variance of simple random sampling is (1/s − 1/m) times a constant. It returns NaN
// for a method that was not measured, and +Inf for an error without a signal.
func interpolate(t *ErrorTable, method string, size float64) float64 {
	var below, beyond *ErrorRow
	for k := range t.Rows {
		r := &t.Rows[k]
		if r.Method != method {
			continue
		}
		if float64(r.Samples) <= size {
			below = r
		} else if beyond == nil {
			beyond = r
		}
	}
	switch {
	case below == nil && beyond == nil:
		return math.NaN()
	case below == nil: // far fewer draws than candidates: the variance is proportional to 1/s
		return t.overSignal(beyond.Mean * math.Sqrt(float64(beyond.Samples)/size))
	case beyond == nil:
		return t.overSignal(below.Mean)
	}
	x0, x1 := 1/float64(below.Samples), 1/float64(beyond.Samples)
	y0, y1 := below.Mean*below.Mean, beyond.Mean*beyond.Mean
	return t.overSignal(math.Sqrt(max(y0+(y1-y0)*(1/size-x0)/(x1-x0), 0)))
}

// overSignal divides an error by the signal.
func (t *ErrorTable) overSignal(e float64) float64 {
	if e == 0 {
		return 0
	}
	return e / t.Signal
}
