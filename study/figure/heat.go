package figure

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
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
	out.NominalX(thinned(h.Columns)...)
	names := make([]string, len(h.Rows))
	for i, name := range thinned(h.Rows) {
		names[len(names)-1-i] = name
	}
	out.NominalY(names...)
	out.X.Min, out.X.Max = -0.5, float64(len(h.Columns))-0.5
	out.Y.Min, out.Y.Max = -0.5, float64(len(h.Rows))-0.5
}

// thinned shortens names, and leaves out some of many.
func thinned(names []string) []string {
	every := (len(names) + mostNames - 1) / mostNames
	out := make([]string, len(names))
	for i, name := range names {
		if letters := []rune(name); len(letters) > 14 {
			name = string(letters[:13]) + "…"
		}
		if every <= 1 || i%every == 0 {
			out[i] = name
		}
	}
	return out
}

// Plot implements plot.Plotter.
func (h *Heat) Plot(c draw.Canvas, out *plot.Plot) {
	x, y := out.Transforms(&c)
	dark := Palette()[2]
	mix := func(from uint8, shade float64) uint8 { return uint8(255 - shade*(255-float64(from)) + 0.5) }
	style := out.X.Tick.Label
	style.Rotation = 0
	style.Font.Size = font.Points(textSize - 2)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	for i := range h.Shades {
		for j, shade := range h.Shades[i] {
			if !(shade >= 0) {
				continue
			}
			shade = min(shade, 1)
			left, right := x(float64(j)-0.5), x(float64(j)+0.5)
			top := float64(len(h.Rows) - 1 - i)
			low, high := y(top-0.5), y(top+0.5)
			c.FillPolygon(color.RGBA{mix(dark.R, shade), mix(dark.G, shade), mix(dark.B, shade), 0xff},
				[]vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}})
			if h.Texts == nil {
				continue
			}
			style.Color = color.Black
			if shade > 0.6 {
				style.Color = color.White
			}
			c.FillText(style, vg.Point{X: x(float64(j)), Y: y(top)}, h.Texts[i][j])
		}
	}
}
