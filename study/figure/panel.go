package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// panel builds the axes and the marks between them.
func (f *Figure) panel(p *Panel) (*plot.Plot, error) {
	out := plot.New()
	p.axes(out)
	if bars := newBars(p.Bars); bars != nil {
		out.Add(bars)
	}
	_, number := f.numbers()
	for k, s := range slices.Concat(p.Points, p.Lines) {
		if err := p.addSeries(out, s, number[s.Name], k >= len(p.Points)); err != nil {
			return nil, err
		}
	}
	widen(&out.X)
	widen(&out.Y)
	if len(p.Names) > 0 {
		if !p.LogY {
			pad := 0.05 * (out.Y.Max - out.Y.Min) // so that no mark lies on the border
			out.Y.Min, out.Y.Max = out.Y.Min-pad, out.Y.Max+pad
		}
		out.X.Min, out.X.Max = -0.5, float64(len(p.Names))-0.5
	}
	if p.FromZero && !p.LogY && out.Y.Max > 0 {
		out.Y.Min = 0
	}
	return out, nil
}

// axes sets the texts, the scales and the grid.
func (p *Panel) axes(out *plot.Plot) {
	out.Title.Text = p.Title
	if p.Caption != "" {
		out.Title.Text += "\n" + p.Caption
	}
	sans(&out.Title.TextStyle, textSize)
	out.Title.Padding = 4
	for _, a := range []struct {
		*plot.Axis
		label string
		log   bool
		base  float64
	}{{&out.X, p.X, p.LogX, 2}, {&out.Y, p.Y, p.LogY, 10}} {
		sans(&a.Label.TextStyle, textSize)
		sans(&a.Tick.Label, textSize-1)
		a.Label.Text, a.Padding, a.Tick.Marker = a.label, 4, plot.TickerFunc(numberTicks)
		if a.log {
			a.Scale, a.Tick.Marker = plot.LogScale{}, powerTicks{a.base}
		}
	}
	grid := plotter.NewGrid()
	grid.Horizontal = draw.LineStyle{Color: color.Gray{0xdd}, Width: 0.5}
	grid.Vertical = grid.Horizontal
	if len(p.Names) > 0 {
		out.NominalX(p.Names...)
		grid.Vertical.Width = 0
		label := &out.X.Tick.Label
		label.Rotation, label.XAlign, label.YAlign = math.Pi/5, draw.XRight, draw.YCenter
	}
	out.Add(grid)
}

// addSeries draws one series. It leaves out points that an axis cannot show, and
// their error bars.
func (p *Panel) addSeries(out *plot.Plot, s Series, number int, joined bool) error {
	if len(s.X) != len(s.Y) || s.Error != nil && len(s.Error) != len(s.Y) {
		return fmt.Errorf("series %q has %d x, %d y and %d errors", s.Name, len(s.X), len(s.Y), len(s.Error))
	}
	var points plotter.XYs
	var errs plotter.YErrors
	for k, x := range s.X {
		y := s.Y[k]
		if !drawable(x, p.LogX) || !drawable(y, p.LogY) {
			continue
		}
		points = append(points, plotter.XY{X: x, Y: y})
		var e struct{ Low, High float64 }
		if s.Error != nil && s.Error[k] > 0 && drawable(y+s.Error[k], p.LogY) {
			e.Low, e.High = s.Error[k], s.Error[k]
			if p.LogY {
				e.Low = min(e.Low, 0.9*y)
			}
		}
		errs = append(errs, e)
	}
	if len(points) == 0 {
		return nil
	}
	line, marks := &plotter.Line{XYs: points}, &plotter.Scatter{XYs: points}
	line.LineStyle, marks.GlyphStyle = s.style(number)
	if c := Color(number); s.Thin {
		line.Width, line.Color = line.Width/2, color.NRGBA{c.R, c.G, c.B, 0x80}
	}
	if s.Band {
		out.Add(band(points, errs, Color(number)), line)
		return nil
	}
	if slices.ContainsFunc(s.Error, func(bar float64) bool { return bar > 0 }) {
		out.Add(&plotter.YErrorBars{XYs: points, YErrors: errs, LineStyle: draw.LineStyle{Color: line.Color, Width: 1}, CapWidth: plotter.DefaultCapWidth})
	}
	if joined {
		out.Add(line)
	}
	if !joined || len(points) <= 40 && !((s.Thin || s.Plain) && len(points) > 1) { // beyond, markers would hide the line
		out.Add(marks)
	}
	return nil
}

// band fills the area between the ends of the errors.
func band(points plotter.XYs, errs plotter.YErrors, c color.RGBA) *plotter.Polygon {
	outline := make(plotter.XYs, 2*len(points))
	for k, at := range points {
		outline[k] = plotter.XY{X: at.X, Y: at.Y + errs[k].High}
		outline[len(outline)-1-k] = plotter.XY{X: at.X, Y: at.Y - errs[k].Low}
	}
	return &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: color.NRGBA{c.R, c.G, c.B, 0x30}}
}

// newBars returns the histogram for gonum, or nil if there is nothing to draw. If
// Low and High count as one value there is one bar, with room around it.
func newBars(b *Bars) *plotter.Histogram {
	if b == nil || len(b.Counts) == 0 || !drawable(b.Low, false) || !drawable(b.High, false) {
		return nil
	}
	counts := b.Counts
	low, high := widened(b.Low, b.High, false)
	if low != b.Low || high != b.High {
		total := 0
		for _, n := range counts {
			total += n
		}
		counts = []int{0, total, 0}
	}
	width := (high - low) / float64(len(counts))
	var bins []plotter.HistogramBin
	for k, n := range counts {
		from := low + float64(k)*width
		bins = append(bins, plotter.HistogramBin{Min: from, Max: from + width, Weight: float64(n)})
	}
	return &plotter.Histogram{Bins: bins, Width: width, FillColor: Palette()[2], LineStyle: draw.LineStyle{Color: color.White, Width: 0.3}}
}
