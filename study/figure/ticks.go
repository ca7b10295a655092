package figure

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// The largest and the smallest magnitudes that a chart can show. They leave room to
// compute ranges and steps.
const (
	most  = 1e290
	least = 1e-290
)

// drawable reports whether an axis, logarithmic or not, can show v.
func drawable(v float64, log bool) bool {
	return math.Abs(v) <= most && (!log || v >= least)
}

// widened returns a range that ticks can divide. A range that counts as a single value,
// since its length is below 1e-4 of its magnitude, gets room around it: a twentieth of the
// value at each end, or 1 at each end of 0; on a logarithmic axis a factor of two. The empty
// range becomes 0 to 1.
func widened(low, high float64, log bool) (float64, float64) {
	magnitude := max(math.Abs(low), math.Abs(high))
	switch {
	case !(low <= high):
		return 0, 1
	case magnitude >= least && high-low >= 1e-4*magnitude:
		return low, high
	case log:
		return low / 2, high * 2
	case magnitude < least:
		return low - 1, high + 1
	}
	return low - magnitude/20, high + magnitude/20
}

// widen gives an axis a range that can be drawn. A logarithmic axis without data
// becomes linear.
func widen(a *plot.Axis) {
	_, log := a.Scale.(plot.LogScale)
	if log && !(a.Min > 0 && a.Min <= a.Max) {
		a.Scale, a.Tick.Marker = plot.LinearScale{}, plot.ConstantTicks(nil)
	}
	a.Min, a.Max = widened(a.Min, a.Max, log)
}

// numberTicks are gonum's, with at most four labels, so that they do not overlap, of enough
// digits to tell them apart.
func numberTicks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	var major []*plot.Tick
	for k := range ticks {
		if !ticks[k].IsMinor() {
			major = append(major, &ticks[k])
		}
	}
	for k, tick := range major {
		if tick.Label = tickText(tick.Value); k%(1+(len(major)-1)/4) > 0 {
			tick.Label = ""
		}
	}
	return ticks
}

func tickText(v float64) string { return fmt.Sprint(float64(finite.Measured(v)) + 0) } // +0 turns -0 into 0

// powerTicks are the ticks of a logarithmic axis: at most eight powers of the base and, in
// up to two decades, twice and five times those of ten. A shorter axis has ticks at round
// numbers.
type powerTicks struct{ base float64 }

// Ticks implements plot.Ticker.
func (t powerTicks) Ticks(low, high float64) []plot.Tick {
	multiples := []float64{1}
	if t.base == 2 && (low < 1 || high > 1<<19) { // powers of ten are easier to read
		t.base = 10
	}
	if t.base == 10 && high/low <= 100 {
		multiples = []float64{1, 2, 5}
	}
	first, last := int(math.Floor(math.Log(low)/math.Log(t.base))), int(math.Ceil(math.Log(high)/math.Log(t.base)))
	every := 1 + (last-first)/7
	first = int(math.Floor(float64(first)/float64(every))) * every // so that a power of many is at 1
	var ticks []plot.Tick
	for e := first; e <= last; e += every {
		for _, m := range multiples {
			if v := m * math.Pow(t.base, float64(e)); v >= low*(1-1e-9) && v <= high*(1+1e-9) {
				ticks = append(ticks, plot.Tick{Value: v, Label: tickText(v)})
			}
		}
	}
	if len(ticks) < 2 {
		return numberTicks(low, high)
	}
	return ticks
}
