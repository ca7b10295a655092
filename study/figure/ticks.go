package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// numberTicks are labelled ticks at round numbers, up to seven of them, with
// smaller ones between.
type numberTicks struct{}

// Ticks implements plot.Ticker.
func (numberTicks) Ticks(low, high float64) []plot.Tick {
	if !(high > low) || math.IsInf(high-low, 0) {
		return nil
	}
	step, parts := roundStep((high - low) / 6)
	minor := step / float64(parts)
	var ticks []plot.Tick
	const slack = 1e-9 // of a small step, for what rounding does; + 0 makes −0 a 0
	for k := math.Ceil(low/minor-slack) + 0; k*minor <= high+slack*minor; k++ {
		tick := plot.Tick{Value: k * minor}
		if math.Mod(k, float64(parts)) == 0 {
			tick.Label = shortNumber(tick.Value)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// roundStep returns the least of the numbers 1, 2 and 5 times a power of ten that
// is at least v > 0, and into how many round parts it is divided.
func roundStep(v float64) (step float64, parts int) {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	switch {
	case v <= power:
		return power, 5
	case v <= 2*power:
		return 2 * power, 4
	case v <= 5*power:
		return 5 * power, 5
	}
	return 10 * power, 5
}

// powerTicks are the ticks of a log axis: powers of two, or 1, 2 and 5 times
// powers of ten. On an axis too short for them to tell its scale there are more,
// and round numbers on one shorter still.
type powerTicks struct{ two bool }

// Ticks implements plot.Ticker.
func (t powerTicks) Ticks(low, high float64) []plot.Tick {
	if !(low > 0) || math.IsInf(high, 0) || math.IsNaN(high) {
		return nil
	}
	var best []plot.Tick
	if t.two {
		if best = twos(low, high); labelled(best) >= 2 {
			return best
		}
	}
	for _, ticks := range [][]plot.Tick{
		tens(low, high, 1, 2, 5), tens(low, high, 1, 2, 3, 5, 7), numberTicks{}.Ticks(low, high),
	} {
		if n := labelled(ticks); n > labelled(best) {
			best = ticks
			if n >= 3 {
				break
			}
		}
	}
	return best
}

// twos are the powers of two in [low, high].
func twos(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log2(low)); e <= math.Ceil(math.Log2(high)); e++ {
		ticks = addTick(ticks, low, high, math.Exp2(e), true)
	}
	return ticks
}

// tens are the multiples of the powers of ten in [low, high]. Where those are
// many, only the powers have labels.
func tens(low, high float64, multiples ...float64) []plot.Tick {
	var ticks []plot.Tick
	decades := math.Log10(high / low)
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for _, m := range multiples {
			ticks = addTick(ticks, low, high, m*math.Pow(10, e), m == 1 || decades <= 3)
		}
	}
	return ticks
}

// addTick adds a tick at v if that is in [low, high].
func addTick(ticks []plot.Tick, low, high, v float64, label bool) []plot.Tick {
	if v < low*(1-1e-9) || v > high*(1+1e-9) {
		return ticks
	}
	tick := plot.Tick{Value: v}
	if label {
		tick.Label = shortNumber(v)
	}
	return append(ticks, tick)
}

// labelled counts the ticks with labels.
func labelled(ticks []plot.Tick) int {
	n := 0
	for _, tick := range ticks {
		if tick.Label != "" {
			n++
		}
	}
	return n
}

// shortNumber writes a number with the digits that a tick needs.
func shortNumber(v float64) string {
	if a := math.Abs(v); a >= 1e6 || a > 0 && a < 1e-4 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}
