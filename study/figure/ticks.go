package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// numberTicks are gonum's ticks with short labels.
type numberTicks struct{}

// Ticks implements plot.Ticker.
func (numberTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for k := range ticks {
		if ticks[k].Label != "" {
			ticks[k].Label = shortNumber(ticks[k].Value)
		}
	}
	return ticks
}

// powerTicks are the ticks of a log axis: powers of two, or 1, 2 and 5 times
// powers of ten.
type powerTicks struct{ two bool }

// Ticks implements plot.Ticker.
func (t powerTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	if !(low > 0) || math.IsInf(high, 0) || math.IsNaN(high) {
		return nil
	}
	if t.two {
		for e := math.Floor(math.Log2(low)); e <= math.Ceil(math.Log2(high)); e++ {
			v := math.Exp2(e)
			ticks = append(ticks, plot.Tick{Value: v, Label: shortNumber(v)})
		}
	} else {
		decades := math.Log10(high / low)
		for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
			for _, m := range []float64{1, 2, 5} {
				v := m * math.Pow(10, e)
				label := shortNumber(v)
				if m != 1 && decades > 3 {
					label = ""
				}
				ticks = append(ticks, plot.Tick{Value: v, Label: label})
			}
		}
	}
	within := ticks[:0]
	for _, tick := range ticks {
		if tick.Value >= low*(1-1e-9) && tick.Value <= high*(1+1e-9) {
			within = append(within, tick)
		}
	}
	return within
}

// shortNumber writes a number with the digits that a tick needs.
func shortNumber(v float64) string {
	if a := math.Abs(v); a >= 1e6 || a > 0 && a < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}
