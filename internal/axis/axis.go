// Package axis computes the range and the ticks of a chart's axis for any values:
// equal ones, none, huge ones, or ones that differ in their last bit.
//
//	values ─▶ Range ─▶ Widened ─▶ Ticks ─▶ study/figure, internal/report
package axis

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// The largest and the smallest magnitudes that a chart can show. They leave room to
// compute ranges and steps.
const (
	most  = 1e290
	least = 1e-290
)

// narrowest is the least ratio of a range's length to its magnitude. A range below
// it counts as one value: its ticks would need more than seven digits.
const narrowest = 1e-5

// Drawable reports whether a chart can show v: a number of at most 1e290 in
// magnitude.
func Drawable(v float64) bool { return math.Abs(v) <= most }

// Positive reports whether a logarithmic axis can show v.
func Positive(v float64) bool { return v >= least && v <= most }

// Range is the range of values on an axis.
type Range struct{ Low, High float64 }

// Empty returns the range of no values.
func Empty() Range { return Range{math.Inf(1), math.Inf(-1)} }

// Include extends the range to v, unless v cannot be drawn.
func (r *Range) Include(v float64) {
	if Drawable(v) {
		r.Low, r.High = min(r.Low, v), max(r.High, v)
	}
}

// Widened returns the range if ticks can divide it. A range that counts as a single
// value gets room around it: a twentieth of the value at each end, or 1 at each end
// of 0. The empty range becomes 0 to 1.
func (r Range) Widened() Range {
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

// Narrow reports whether the range counts as a single value.
func (r Range) Narrow() bool {
	return r.magnitude() < least || r.High-r.Low < narrowest*r.magnitude()
}

func (r Range) magnitude() float64 { return max(math.Abs(r.Low), math.Abs(r.High)) }

// Ticks returns the ticks of a widened range. At most n+1 ticks have labels: the
// multiples of 1, 2 or 5 times a power of ten in the range. Smaller ticks without
// labels stand between them. All labels differ. A range that is not widened has no
// ticks.
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
			continue // out of float64's range; widened ranges are not
		}
		tick := plot.Tick{Value: v}
		if k%parts == 0 {
			tick.Label = strconv.FormatFloat(v, 'g', -1, 64)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// divide finds the least number that is at least v > 0 and 1, 2 or 5 times a power
// of ten. It returns the number as parts·minor·10^exponent: minor·10^exponent is the
// small step, and parts of them make a large one.
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
