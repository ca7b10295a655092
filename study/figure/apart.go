package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labelGap is the least space between two labels along a horizontal axis.
const labelGap = textSize / 2

// keepLabelsApart removes labels that would overlap on the axes of p when p fills c. Their
// ticks stay. Names along an axis are left alone: they are rotated or shortened.
func keepLabelsApart(p *plot.Plot, panel *Panel, c draw.Canvas) {
	if panel.Heat != nil {
		return
	}
	data := p.DataCanvas(c).Size() // fewer labels only make it larger
	if len(panel.Names) == 0 {
		width := func(label string) vg.Length { return p.X.Tick.Label.Width(label) + labelGap }
		p.X.Tick.Marker = apart(&p.X, data.X, width)
	}
	p.Y.Tick.Marker = apart(&p.Y, data.Y, p.Y.Tick.Label.Height)
}

// apart returns the ticks of an axis of the given length, with labels that do not overlap.
// size is the extent of a label along the axis. Where all labels do not fit, it keeps those
// of the powers of ten on a logarithmic axis, or else every second, third … label.
func apart(a *plot.Axis, length vg.Length, size func(string) vg.Length) plot.ConstantTicks {
	all := a.Tick.Marker.Ticks(a.Min, a.Max)
	place := func(v float64) vg.Length { return length * vg.Length(a.Norm(v)) }
	if fit(all, place, size) {
		return all
	}
	if _, log := a.Scale.(plot.LogScale); log {
		powers := keepLabels(all, func(_ int, v float64) bool {
			power := math.Log10(v)
			return math.Abs(power-math.Round(power)) < 1e-9
		})
		if n := labelled(powers); n >= 2 {
			if all = powers; fit(all, place, size) {
				return all
			}
		}
	}
	for every := 2; ; every++ {
		some := keepLabels(all, func(k int, _ float64) bool { return k%every == 0 })
		if fit(some, place, size) {
			return some
		}
	}
}

// fit reports whether no label overlaps the next. A single label fits.
func fit(ticks []plot.Tick, place func(float64) vg.Length, size func(string) vg.Length) bool {
	end := vg.Length(math.Inf(-1))
	for _, tick := range ticks {
		if tick.Label == "" {
			continue
		}
		at, half := place(tick.Value), size(tick.Label)/2
		if at-half < end {
			return false
		}
		end = at + half
	}
	return true
}

// keepLabels returns the ticks with the labels that keep accepts, by the number of the
// label and its value.
func keepLabels(ticks []plot.Tick, keep func(k int, v float64) bool) []plot.Tick {
	out := make([]plot.Tick, len(ticks))
	labels := 0
	for k, tick := range ticks {
		out[k] = tick
		if tick.Label == "" {
			continue
		}
		if !keep(labels, tick.Value) {
			out[k].Label = ""
		}
		labels++
	}
	return out
}
