package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Palette returns the colours of Okabe & Ito (2008, "Color universal design") in
// the order in which series take them. It leaves out yellow, which is too light on
// white.
func Palette() []color.RGBA {
	return []color.RGBA{
		{0x00, 0x00, 0x00, 0xff}, // black
		{0xd5, 0x5e, 0x00, 0xff}, // vermillion
		{0x00, 0x72, 0xb2, 0xff}, // blue
		{0x00, 0x9e, 0x73, 0xff}, // bluish green
		{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
		{0xe6, 0x9f, 0x00, 0xff}, // orange
		{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	}
}

// Color returns the colour of series number k: the colours of Palette, then violet, brown and
// crimson, then dark colours a golden angle apart.
func Color(k int) color.RGBA {
	colors := append(Palette(), color.RGBA{0x6a, 0x1f, 0xb2, 0xff}, color.RGBA{0x6b, 0x3e, 0x14, 0xff}, color.RGBA{0xb0, 0x10, 0x3a, 0xff})
	if k < len(colors) {
		return colors[k]
	}
	_, hue := math.Modf(float64(k) * (math.Phi - 1))
	part := func(shift float64) uint8 {
		return uint8(20 + 170*(0.5+0.5*math.Cos(2*math.Pi*(hue-shift))))
	}
	return color.RGBA{part(0), part(1.0 / 3), part(2.0 / 3), 0xff}
}

// style returns the look of series number k.
func (s Series) style(k int) (draw.LineStyle, draw.GlyphStyle) {
	line, glyph := style(k)
	if s.Disc > 0 {
		glyph.Radius, glyph.Shape = vg.Points(s.Disc), draw.CircleGlyph{}
	}
	return line, glyph
}

// style returns the usual look of series number k: a colour of its own, and dashes in turn.
func style(k int) (draw.LineStyle, draw.GlyphStyle) {
	colors, c := len(Palette()), Color(k)
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
		draw.RingGlyph{}, draw.PyramidGlyph{}, draw.PlusGlyph{}, draw.BoxGlyph{},
	}
	dashes := [][]vg.Length{
		nil,
		{vg.Points(6), vg.Points(2.5)},
		{vg.Points(1.5), vg.Points(2)},
		{vg.Points(6), vg.Points(2), vg.Points(1.5), vg.Points(2)},
	}
	line := draw.LineStyle{Color: c, Width: vg.Points(1.6), Dashes: dashes[(k%colors+k/colors)%len(dashes)]}
	return line, draw.GlyphStyle{Color: c, Radius: vg.Points(2.8), Shape: shapes[k%len(shapes)]}
}
