package figure

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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

// style returns the look of series number k: a colour of its own, and dashes and markers in
// turn.
func (s Series) style(k int) (draw.LineStyle, draw.GlyphStyle) {
	colors, c := len(Palette()), Color(k)
	shapes := []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
		draw.RingGlyph{}, draw.PyramidGlyph{}, draw.PlusGlyph{}, draw.BoxGlyph{},
	}
	dashes := [][]vg.Length{nil, {6, 2.5}, {1.5, 2}, {6, 2, 1.5, 2}} // in points
	line := draw.LineStyle{Color: c, Width: 1.6, Dashes: dashes[(k%colors+k/colors)%len(dashes)]}
	if s.Cloud {
		blue := Palette()[2]
		return line, draw.GlyphStyle{Color: color.NRGBA{blue.R, blue.G, blue.B, 0x70}, Radius: 1.6, Shape: draw.CircleGlyph{}}
	}
	return line, draw.GlyphStyle{Color: c, Radius: 2.8, Shape: shapes[k%len(shapes)]}
}

// numbers numbers the names of series over all panels, lines before points. It returns the
// first series of each.
func (f *Figure) numbers() (first []Series, number map[string]int) {
	number = map[string]int{}
	for _, p := range f.Panels {
		for k, s := range slices.Concat(p.Lines, p.Points) {
			if _, seen := number[s.Name]; !seen {
				number[s.Name] = len(first)
				first = append(first, s)
			}
			if k < len(p.Lines) {
				first[number[s.Name]].joined = true
			}
		}
	}
	return first, number
}

// legend lists every named series once.
func (f *Figure) legend() *plot.Legend {
	l := plot.NewLegend()
	sans(&l.TextStyle, textSize-1)
	l.ThumbnailWidth, l.Padding = 1.2*vg.Centimeter, vg.Millimeter
	l.Top, l.Left = true, true
	first, _ := f.numbers()
	for k, s := range first {
		if s.Name == "" || f.NoLegend {
			continue
		}
		line, points := new(plotter.Line), new(plotter.Scatter)
		line.LineStyle, points.GlyphStyle = s.style(k)
		thumbnails := []plot.Thumbnailer{line, points}
		if s.Plain {
			thumbnails = thumbnails[:1]
		} else if !s.joined {
			thumbnails = thumbnails[1:]
		}
		l.Add(s.Name, thumbnails...)
	}
	return &l
}

// legendWidth returns the width of a legend, 0 for an empty one.
func legendWidth(l *plot.Legend) vg.Length {
	return l.Rectangle(draw.Canvas{}).Size().X // it reads the corners only
}

// Curves makes a series of the rows of each name, in the order of the first rows. point returns
// the name, the place and half the length of the error bar of a row.
func Curves[R any](rows []R, point func(R) (name string, x, y, bar float64)) []Series {
	var all []Series
	for _, r := range rows {
		name, x, y, bar := point(r)
		at := slices.IndexFunc(all, func(s Series) bool { return s.Name == name })
		if at < 0 {
			at = len(all)
			all = append(all, Series{Name: name})
		}
		all[at].Add(x, y, bar)
	}
	return all
}
