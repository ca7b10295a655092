package figure

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a matrix of coloured cells, such as a confusion matrix. The first row is at the
// top.
type Heat struct {
	Rows, Columns []string    // names
	Shades        [][]float64 // of each cell: 0 is white, 1 is the darkest
	Texts         [][]string  // in the cells; nil: none
}

// check returns an error if the sizes do not agree.
func (h *Heat) check() error {
	agree := len(h.Rows) > 0 && len(h.Columns) > 0 && len(h.Shades) == len(h.Rows) && (h.Texts == nil || len(h.Texts) == len(h.Rows))
	for i := range h.Shades {
		agree = agree && len(h.Shades[i]) == len(h.Columns) && (h.Texts == nil || len(h.Texts[i]) == len(h.Columns))
	}
	if !agree {
		return fmt.Errorf("a matrix of %d rows and %d columns has %d rows of shades and %d of texts", len(h.Rows), len(h.Columns), len(h.Shades), len(h.Texts))
	}
	return nil
}

// mostNames is the largest number of names along an axis of a Heat; with more rows or
// columns only some are named.
const mostNames = 24

// axes gives both axes names in the place of numbers.
func (h *Heat) axes(out *plot.Plot) {
	n := len(h.Rows)
	out.X.Tick.Marker = nameTicks(h.Columns, func(k int) float64 { return float64(k) })
	out.Y.Tick.Marker = nameTicks(h.Rows, func(k int) float64 { return float64(n - 1 - k) })
	out.X.Min, out.X.Max, out.Y.Min, out.Y.Max = -0.5, float64(len(h.Columns))-0.5, -0.5, float64(n)-0.5
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Tick.Length, a.Width, a.Padding = 0, 0, 8
	}
}

// nameTicks shortens names, and leaves out some of many.
func nameTicks(names []string, at func(k int) float64) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for k := 0; k < len(names); k += 1 + (len(names)-1)/mostNames {
		name := names[k]
		if letters := []rune(name); len(letters) > 14 {
			name = string(letters[:13]) + "…"
		}
		ticks = append(ticks, plot.Tick{Value: at(k), Label: name})
	}
	return ticks
}

// Plot implements plot.Plotter.
func (h *Heat) Plot(c draw.Canvas, out *plot.Plot) {
	x, y := out.Transforms(&c)
	dark := Palette()[2]
	style := out.X.Tick.Label
	sans(&style, textSize-2)
	style.Rotation, style.XAlign, style.YAlign = 0, draw.XCenter, draw.YCenter
	for i := range h.Shades {
		row := float64(len(h.Rows) - 1 - i)
		for j, shade := range h.Shades[i] {
			if !(shade >= 0) {
				continue
			}
			shade = min(shade, 1)
			mix := func(part uint8) uint8 { return uint8(255 - shade*(255-float64(part)) + 0.5) }
			low, high := vg.Point{X: x(float64(j) - 0.5), Y: y(row - 0.5)}, vg.Point{X: x(float64(j) + 0.5), Y: y(row + 0.5)}
			c.FillPolygon(color.RGBA{mix(dark.R), mix(dark.G), mix(dark.B), 0xff}, []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}})
			if h.Texts == nil {
				continue
			}
			style.Color = color.Black
			if shade > 0.6 {
				style.Color = color.White
			}
			c.FillText(style, vg.Point{X: x(float64(j)), Y: y(row)}, h.Texts[i][j])
		}
	}
}
