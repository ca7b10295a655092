package figure

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sans makes a text style sans-serif, which is easier to read at small sizes.
func sans(t *draw.TextStyle) { t.Font.Variant = "Sans" }

func fitStyle() draw.LineStyle {
	return draw.LineStyle{Color: Palette()[1], Width: vg.Points(2)}
}

// panel builds the axes and the marks between them.
func (f *Figure) panel(p *Panel) (*plot.Plot, error) {
	out := plot.New()
	f.axes(out, p)
	if bars := newBars(p.Bars); bars != nil {
		out.Add(bars)
	}
	addCloud(out, p)
	if p.Fit != nil && !p.LogX && !p.LogY {
		addFit(out, p.Fit)
	}
	if p.Bare {
		out.HideAxes()
	}
	if len(p.Edges) > 0 {
		out.Add(edges(p.Edges))
	}
	_, number := f.numbers()
	for k, s := range slices.Concat(p.Lines, p.Points) {
		if err := addSeries(out, p, s, number[s.Name], k < len(p.Lines)); err != nil {
			return nil, err
		}
	}
	widen(&out.X)
	widen(&out.Y)
	if len(p.Names) > 0 && !p.LogY {
		pad := 0.05 * (out.Y.Max - out.Y.Min) // so that no mark lies on the border
		out.Y.Min, out.Y.Max = out.Y.Min-pad, out.Y.Max+pad
	}
	if p.FromZero && !p.LogY && out.Y.Max > 0 {
		out.Y.Min = 0
	}
	if len(p.Names) > 0 {
		out.X.Min, out.X.Max = -0.5, float64(len(p.Names))-0.5
	}
	if p.Heat != nil {
		if err := p.Heat.check(); err != nil {
			return nil, err
		}
		p.Heat.axes(out)
		out.Add(p.Heat)
	}
	return out, nil
}

// widen gives an axis a range that can be drawn. A logarithmic axis without data
// becomes linear, and a single value gets room around it.
func widen(a *plot.Axis) {
	r := span{a.Min, a.Max}
	_, log := a.Scale.(plot.LogScale)
	switch {
	case !log:
		r = r.widened()
	case !(r.low <= r.high) || !(r.low > 0):
		a.Scale, a.Tick.Marker = plot.LinearScale{}, plot.ConstantTicks(nil)
		r = span{0, 1}
	case r.narrow():
		r = span{r.low / 2, r.high * 2}
	}
	a.Min, a.Max = r.low, r.high
}

func (f *Figure) axes(out *plot.Plot, p *Panel) {
	sans(&out.Title.TextStyle)
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		sans(&a.Label.TextStyle)
		sans(&a.Tick.Label)
	}
	out.Title.Text = p.Title
	if p.Caption != "" {
		out.Title.Text += "\n" + p.Caption
	}
	out.Title.TextStyle.Font.Size = font.Points(textSize)
	out.Title.Padding = vg.Points(4)
	out.X.Label.Text, out.Y.Label.Text = p.X, p.Y
	for _, a := range []*plot.Axis{&out.X, &out.Y} {
		a.Label.TextStyle.Font.Size = font.Points(textSize)
		a.Tick.Label.Font.Size = font.Points(textSize - 1)
		a.Padding = vg.Points(4)
	}
	out.X.Tick.Marker, out.Y.Tick.Marker = plot.TickerFunc(numberTicks), plot.TickerFunc(numberTicks)
	if p.LogX {
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, powerTicks{two: !p.Decades}
	}
	if p.LogY {
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, powerTicks{}
	}
	if len(p.Names) > 0 {
		out.NominalX(p.Names...)
	}
	if len(p.Names) > 0 || p.Heat != nil {
		out.X.Tick.Label.Rotation = math.Pi / 5
		out.X.Tick.Label.XAlign, out.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	grid := plotter.NewGrid()
	faint := draw.LineStyle{Color: color.Gray{0xdd}, Width: vg.Points(0.5)}
	grid.Horizontal, grid.Vertical = faint, faint
	if len(p.Names) > 0 {
		grid.Vertical.Width = 0
	}
	if p.Heat == nil && !p.Bare {
		out.Add(grid)
	}
}

// drawable reports whether an axis, logarithmic or not, can show v.
func drawable(v float64, log bool) bool {
	if log {
		return shownOnLog(v)
	}
	return shown(v)
}

// addSeries draws one series. It leaves out points that an axis cannot show, and
// their error bars.
func addSeries(out *plot.Plot, p *Panel, s Series, number int, joined bool) error {
	if len(s.X) != len(s.Y) || s.Error != nil && len(s.Error) != len(s.Y) {
		return fmt.Errorf("series %q has %d x, %d y and %d errors", s.Name, len(s.X), len(s.Y), len(s.Error))
	}
	var points plotter.XYs
	var errs plotter.YErrors
	for k := range s.X {
		x, y := s.X[k], s.Y[k]
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
	if s.Thin {
		line.Width /= 2
	}
	if s.Band {
		out.Add(band(points, errs, line.Color), line)
		return nil
	}
	if s.Error != nil {
		out.Add(&plotter.YErrorBars{XYs: points, YErrors: errs, LineStyle: draw.LineStyle{Color: line.Color, Width: vg.Points(1)}, CapWidth: plotter.DefaultCapWidth})
	}
	if joined {
		out.Add(line)
	}
	if !joined || len(points) <= 40 && !(s.Thin && len(points) > 1) { // beyond, markers would hide the line
		out.Add(marks)
	}
	return nil
}

// edges draws thin lines.
type edges [][2]XY

// Plot implements plot.Plotter.
func (e edges) Plot(c draw.Canvas, out *plot.Plot) {
	x, y := out.Transforms(&c)
	style := draw.LineStyle{Color: color.Gray{0xcc}, Width: vg.Points(0.7)}
	for _, ends := range e {
		c.StrokeLine2(style, x(ends[0].X), y(ends[0].Y), x(ends[1].X), y(ends[1].Y))
	}
}

// band fills the area between the ends of the errors.
func band(points plotter.XYs, errs plotter.YErrors, c color.Color) *plotter.Polygon {
	outline := make(plotter.XYs, 2*len(points))
	for k, at := range points {
		outline[k] = plotter.XY{X: at.X, Y: at.Y + errs[k].High}
		outline[len(outline)-1-k] = plotter.XY{X: at.X, Y: at.Y - errs[k].Low}
	}
	solid := c.(color.RGBA)
	return &plotter.Polygon{XYs: []plotter.XYs{outline}, Color: color.NRGBA{solid.R, solid.G, solid.B, 0x30}}
}

// addFit draws the line over the panel, unless a part of it cannot be drawn.
func addFit(out *plot.Plot, fit *Straight) {
	at := func(x float64) float64 { return fit.Intercept + fit.Slope*x }
	x := span{out.X.Min, out.X.Max}.widened()
	if !shown(at(x.low)) || !shown(at(x.high)) {
		return
	}
	line := plotter.NewFunction(at)
	line.LineStyle = fitStyle()
	out.Add(line)
}

func addCloud(out *plot.Plot, p *Panel) {
	var points plotter.XYs
	for _, at := range p.Cloud {
		if drawable(at.X, p.LogX) && drawable(at.Y, p.LogY) {
			points = append(points, plotter.XY(at))
		}
	}
	if len(points) == 0 {
		return
	}
	blue := Palette()[2]
	out.Add(&plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{
		Color: color.NRGBA{blue.R, blue.G, blue.B, 0x70}, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{},
	}})
}

// newBars returns the histogram for gonum, or nil if there is nothing to draw. If
// Low and High count as one value there is one bar, with room around it.
func newBars(b *Bars) *plotter.Histogram {
	if b == nil || len(b.Counts) == 0 || !shown(b.Low) || !shown(b.High) {
		return nil
	}
	width := (b.High - b.Low) / float64(len(b.Counts))
	bins := make([]plotter.HistogramBin, len(b.Counts))
	total := 0
	for k, n := range b.Counts {
		from := b.Low + float64(k)*width
		bins[k] = plotter.HistogramBin{Min: from, Max: from + width, Weight: float64(n)}
		total += n
	}
	if r := (span{b.Low, b.High}); r.narrow() {
		around := r.widened()
		width = (around.high - around.low) / float64(max(len(bins), 3))
		from, to := b.Low-width/2, b.Low+width/2
		bins = []plotter.HistogramBin{{Min: around.low, Max: from}, {Min: from, Max: to, Weight: float64(total)}, {Min: to, Max: around.high}}
	}
	blue := Palette()[2]
	return &plotter.Histogram{Bins: bins, Width: width, FillColor: blue, LineStyle: draw.LineStyle{Color: color.White, Width: vg.Points(0.3)}}
}
