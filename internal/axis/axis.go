// Package axis gives the axis of a chart its range and its ticks, whatever the
// values are: equal ones, none, huge ones, or ones that differ in their last bit.
//
//	values ─▶ Range ─▶ Settled ─▶ Ticks ─▶ study/figure, internal/report
package axis

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// The magnitudes that a chart tells from infinity and from 0. They leave room to
// compute with ranges and steps in.
const (
	most  = 1e290
	least = 1e-290
)

// narrowest is the length of a range over its magnitude below which it counts as
// one value: ticks would need more than seven digits.
const narrowest = 1e-5

// Drawable tells whether a chart can show v: it is a number of at most 1e290 in
// magnitude.
func Drawable(v float64) bool { return math.Abs(v) <= most }

// Positive tells whether a logarithmic axis can show v.
func Positive(v float64) bool { return v >= least && v <= most }

// Range is the values between the ends of an axis.
type Range struct{ Low, High float64 }

// Empty returns the range of no values.
func Empty() Range { return Range{math.Inf(1), math.Inf(-1)} }

// Include extends the range to v, unless v cannot be drawn.
func (r *Range) Include(v float64) {
	if Drawable(v) {
		r.Low, r.High = min(r.Low, v), max(r.High, v)
	}
}

// Settled returns the range if it can be divided by ticks. One that counts as a
// single value gets room around it: a twentieth of the value at each end, or 1 at
// each end of 0. No values give 0 to 1.
func (r Range) Settled() Range {
	if !(r.Low <= r.High) {
		return Range{0, 1}
	}
	if !r.Narrow() {
		return r
	}
	room := 0.05 * r.magnitude()
	if r.magnitude() < least {
		room = 1
	}
	return Range{r.Low - room, r.High + room}
}

// Narrow tells whether the range counts as a single value.
func (r Range) Narrow() bool {
	return r.magnitude() < least || r.High-r.Low < narrowest*r.magnitude()
}

func (r Range) magnitude() float64 { return max(math.Abs(r.Low), math.Abs(r.High)) }

// Ticks returns the ticks of a settled range: labelled ones at the multiples of
// 1, 2 or 5 times a power of ten that are in it, at most n+1, and smaller ones
// without labels between. Labels differ from each other. A range that is not
// settled has none.
func (r Range) Ticks(n int) []plot.Tick {
	if !(r.Low < r.High) || r.Narrow() || math.IsInf(r.High-r.Low, 0) {
		return nil
	}
	minor, parts, exponent := divide((r.High - r.Low) / float64(n))
	step := float64(minor) * math.Pow(10, float64(exponent))
	const slack = 1e-9 // of a step, for rounding
	first, last := int64(math.Ceil(r.Low/step-slack)), int64(math.Floor(r.High/step+slack))
	var ticks []plot.Tick
	for k := first; k <= last; k++ {
		// A decimal number reads as the nearest float64, so that labels are short.
		text := strconv.FormatInt(k*minor, 10) + "e" + strconv.Itoa(exponent)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue // out of float64's range, which settled ranges are not
		}
		tick := plot.Tick{Value: v}
		if k%parts == 0 {
			tick.Label = strconv.FormatFloat(v, 'g', -1, 64)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// divide finds the least of the numbers 1, 2 and 5 times a power of ten that is
// at least v > 0. It returns that as parts·minor·10^exponent: the small step
// minor·10^exponent, and how many of them make a large one.
func divide(v float64) (minor, parts int64, exponent int) {
	exponent = int(math.Floor(math.Log10(v)))
	switch power := math.Pow(10, float64(exponent)); {
	case v <= power:
		return 2, 5, exponent - 1
	case v <= 2*power:
		return 5, 4, exponent - 1
	case v <= 5*power:
		return 10, 5, exponent - 1
	}
	return 2, 5, exponent
}

// Text writes a number with at most six digits.
func Text(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(rounded+0, 'g', -1, 64) // +0 turns -0 into 0
}
