package figure

import (
	"math"

	"gonum.org/v1/plot"

	"github.com/gcn-layerwise/gcn/internal/axis"
)

// numberTicks are labelled ticks at round numbers, up to seven of them, with
// smaller ones between.
func numberTicks(low, high float64) []plot.Tick {
	return axis.Range{Low: low, High: high}.Ticks(6)
}

// powerTicks are the ticks of a logarithmic axis: powers of two, or 1, 2 and 5 times
// powers of ten. A shorter axis has more ticks between them, and the shortest has
// ticks at round numbers.
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
		tens(low, high, 1, 2, 5), tens(low, high, 1, 2, 3, 5, 7), numberTicks(low, high),
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

// mostPowers is the largest number of labelled powers on an axis.
const mostPowers = 7

// twos are the powers of two in [low, high], on a long axis every second or third
// of them. An axis over many powers of ten, or with powers of more than six digits, has
// none.
func twos(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	first, last := int(math.Floor(math.Log2(low))), int(math.Ceil(math.Log2(high)))
	every := 1 + (last-first)/mostPowers
	if every > 3 || low < 1.0/(1<<6) || high > 1<<19 {
		return nil
	}
	for e := first; e <= last; e++ {
		if e%every == 0 {
			ticks = addTick(ticks, low, high, math.Exp2(float64(e)), true)
		}
	}
	return ticks
}

// tens are the given multiples of the powers of ten in [low, high]. If there are
// many, only the powers have labels. A long axis has only every second, third …
// power.
func tens(low, high float64, multiples ...float64) []plot.Tick {
	var ticks []plot.Tick
	decades := math.Log10(high) - math.Log10(low)
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	every := 1 + (last-first)/mostPowers
	for e := first; e <= last; e++ {
		for _, m := range multiples {
			if every > 1 && (m > 1 || e%every != 0) {
				continue
			}
			ticks = addTick(ticks, low, high, m*math.Pow(10, float64(e)), m == 1 || decades <= 3)
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
		tick.Label = axis.Text(v)
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
