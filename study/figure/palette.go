package figure

import (
	"image/color"

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

// style returns the look of series number k: all colours, then the next dashes.
func style(k int) (draw.LineStyle, draw.GlyphStyle) {
	colors := Palette()
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
	c := colors[k%len(colors)]
	line := draw.LineStyle{Color: c, Width: vg.Points(1.6), Dashes: dashes[(k%len(colors)+k/len(colors))%len(dashes)]}
	return line, draw.GlyphStyle{Color: c, Radius: vg.Points(2.8), Shape: shapes[k%len(shapes)]}
}
