package figure

import (
	"math"

	"gonum.org/v1/plot"
)

// numberTicks are labelled ticks at round numbers, up to seven of them, with
// smaller ones between.
func numberTicks(low, high float64) []plot.Tick {
	return span{low, high}.ticks(6)
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
	if t.two && low >= 1.0/(1<<6) && high <= 1<<19 { // outside, powers of ten are easier to read
		var every int
		if best, every = powers(low, high, 2, math.Log2, 1); labelled(best) >= 2 && every <= 3 {
			return best
		}
	}
	for _, multiples := range [][]float64{{1, 2, 5}, {1, 2, 3, 5, 7}, nil} {
		ticks, _ := powers(low, high, 10, math.Log10, multiples...)
		if multiples == nil {
			ticks = numberTicks(low, high)
		}
		if n := labelled(ticks); n > labelled(best) {
			best = ticks
			if n >= 3 {
				break
			}
		}
	}
	return best
}

// powers are the given multiples of the powers of base in [low, high]. If they are of more
// than three decades, only the powers have labels. A long axis has only every second,
// third … power.
func powers(low, high, base float64, log func(float64) float64, multiples ...float64) (ticks []plot.Tick, every int) {
	const most = 7 // labelled powers on an axis
	decades := math.Log10(high) - math.Log10(low)
	first, last := int(math.Floor(log(low))), int(math.Ceil(log(high)))
	every = 1 + (last-first)/most
	for e := first; e <= last; e++ {
		for _, m := range multiples {
			v := m * math.Pow(base, float64(e))
			if every > 1 && (m > 1 || e%every != 0) || v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			if m == 1 || decades <= 3 {
				tick.Label = numberText(v, 6)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks, every
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
