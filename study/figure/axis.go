package figure

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

// shown reports whether a chart can show v: a number of at most 1e290 in
// magnitude.
func shown(v float64) bool { return math.Abs(v) <= most }

// shownOnLog reports whether a logarithmic axis can show v.
func shownOnLog(v float64) bool { return v >= least && v <= most }

// span is the range of values on an axis.
type span struct{ low, high float64 }

// widened returns the range if ticks can divide it. A range that counts as a single
// value gets room around it: a twentieth of the value at each end, or 1 at each end
// of 0. The empty range becomes 0 to 1.
func (r span) widened() span {
	if !(r.low <= r.high) {
		return span{0, 1}
	}
	if !r.narrow() {
		return r
	}
	room := 0.05 * r.magnitude()
	if r.magnitude() < least {
		room = 1
	}
	return span{r.low - room, r.high + room}
}

// narrow reports whether the range counts as a single value.
func (r span) narrow() bool {
	return r.magnitude() < least || r.high-r.low < narrowest*r.magnitude()
}

func (r span) magnitude() float64 { return max(math.Abs(r.low), math.Abs(r.high)) }

// ticks returns the ticks of a widened range. At most n+1 ticks have labels: the
// multiples of 1, 2 or 5 times a power of ten in the range. Smaller ticks without
// labels stand between them. All labels differ. A range that is not widened has no
// ticks.
func (r span) ticks(n int) []plot.Tick {
	if !(r.low < r.high) || r.narrow() || math.IsInf(r.high-r.low, 0) {
		return nil
	}
	least := (r.high - r.low) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(least)))
	small, parts := 2*power, int64(5) // parts small steps are a large one
	switch {
	case least <= power:
		small = power / 5
	case least <= 2*power:
		small, parts = power/2, 4
	case least <= 5*power:
		small = power
	}
	const slack = 1e-9 // of a step, for rounding
	var ticks []plot.Tick
	for k := int64(math.Ceil(r.low/small - slack)); float64(k) <= r.high/small+slack; k++ {
		tick := plot.Tick{Value: float64(k) * small}
		if k%parts == 0 {
			tick.Label = numberText(tick.Value, 8)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// numberText writes a number with at most so many digits.
func numberText(v float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	return strconv.FormatFloat(rounded+0, 'g', -1, 64) // +0 turns -0 into 0
}
