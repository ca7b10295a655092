package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// sans makes a text style sans-serif, the more legible at small sizes.
func sans(t *draw.TextStyle) { t.Font.Variant = "Sans" }

func fitStyle() draw.LineStyle {
	return draw.LineStyle{Color: Palette()[1], Width: vg.Points(2)}
}

// panel builds the axes and what is between them.
func (f *Figure) panel(p *Panel) (*plot.Plot, error) {
	out := plot.New()
	f.axes(out, p)
	if p.Bars != nil {
		out.Add(newBars(p.Bars))
	}
	if len(p.Cloud) > 0 {
		if err := addCloud(out, p.Cloud); err != nil {
			return nil, err
		}
	}
	if p.Fit != nil {
		line := plotter.NewFunction(func(x float64) float64 { return p.Fit.Intercept + p.Fit.Slope*x })
		line.LineStyle = fitStyle()
		out.Add(line)
	}
	_, number := f.numbers()
	for _, s := range p.Lines {
		if err := addSeries(out, p, s, number[s.Name], true); err != nil {
			return nil, err
		}
	}
	for _, s := range p.Points {
		if err := addSeries(out, p, s, number[s.Name], false); err != nil {
			return nil, err
		}
	}
	if len(p.Names) > 0 && !p.LogY && out.Y.Min < out.Y.Max {
		pad := 0.05 * (out.Y.Max - out.Y.Min) // so that no mark lies on the border
		out.Y.Min, out.Y.Max = out.Y.Min-pad, out.Y.Max+pad
	}
	if p.FromZero && !p.LogY {
		out.Y.Min = 0
	}
	settleLog(&out.X)
	settleLog(&out.Y)
	if len(p.Names) > 0 {
		out.X.Min, out.X.Max = -0.5, float64(len(p.Names))-0.5
	}
	return out, nil
}

// settleLog gives a logarithmic axis a range that gonum can draw: without data it
// becomes a linear one, and a single value gets room around it.
func settleLog(axis *plot.Axis) {
	if _, log := axis.Scale.(plot.LogScale); !log {
		return
	}
	switch {
	case !(axis.Min <= axis.Max) || !(axis.Min > 0):
		axis.Scale, axis.Tick.Marker = plot.LinearScale{}, plot.ConstantTicks(nil)
		axis.Min, axis.Max = 0, 1
	case axis.Min == axis.Max:
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
}

func (f *Figure) axes(out *plot.Plot, p *Panel) {
	sans(&out.Title.TextStyle)
	for _, axis := range []*plot.Axis{&out.X, &out.Y} {
		sans(&axis.Label.TextStyle)
		sans(&axis.Tick.Label)
	}
	out.Title.Text = p.Title
	if p.Caption != "" {
		out.Title.Text += "\n" + p.Caption
	}
	out.Title.TextStyle.Font.Size = font.Points(textSize)
	out.Title.Padding = vg.Points(4)
	out.X.Label.Text, out.Y.Label.Text = p.X, p.Y
	for _, axis := range []*plot.Axis{&out.X, &out.Y} {
		axis.Label.TextStyle.Font.Size = font.Points(textSize)
		axis.Tick.Label.Font.Size = font.Points(textSize - 1)
		axis.Padding = vg.Points(4)
	}
	out.X.Tick.Marker, out.Y.Tick.Marker = numberTicks{}, numberTicks{}
	if p.LogX {
		out.X.Scale, out.X.Tick.Marker = plot.LogScale{}, powerTicks{two: !p.Decades}
	}
	if p.LogY {
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, powerTicks{}
	}
	if len(p.Names) > 0 {
		out.NominalX(p.Names...)
		out.X.Tick.Label.Rotation = math.Pi / 5
		out.X.Tick.Label.XAlign, out.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
	}
	grid := plotter.NewGrid()
	faint := draw.LineStyle{Color: color.Gray{0xdd}, Width: vg.Points(0.5)}
	grid.Horizontal, grid.Vertical = faint, faint
	if len(p.Names) > 0 {
		grid.Vertical.Width = 0
	}
	out.Add(grid)
}

// addSeries draws one series; points that a log axis cannot show are left out.
func addSeries(out *plot.Plot, p *Panel, s Series, number int, joined bool) error {
	if len(s.X) != len(s.Y) || s.Error != nil && len(s.Error) != len(s.Y) {
		return fmt.Errorf("series %q has %d x, %d y and %d errors", s.Name, len(s.X), len(s.Y), len(s.Error))
	}
	var points plotter.XYs
	var errs plotter.YErrors
	for k := range s.X {
		x, y := s.X[k], s.Y[k]
		if p.LogX && !(x > 0) || p.LogY && !(y > 0) || math.IsNaN(x+y) || math.IsInf(x+y, 0) {
			continue
		}
		points = append(points, plotter.XY{X: x, Y: y})
		var e struct{ Low, High float64 }
		if s.Error != nil && s.Error[k] > 0 {
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
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	marks, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	line.LineStyle, marks.GlyphStyle = style(number)
	if s.Error != nil {
		bars, err := plotter.NewYErrorBars(struct {
			plotter.XYs
			plotter.YErrors
		}{points, errs})
		if err != nil {
			return err
		}
		bars.LineStyle = draw.LineStyle{Color: line.Color, Width: vg.Points(1)}
		out.Add(bars)
	}
	if joined {
		out.Add(line)
	}
	if len(points) <= 40 { // beyond, markers would hide the line
		out.Add(marks)
	}
	return nil
}

func addCloud(out *plot.Plot, cloud []XY) error {
	points := make(plotter.XYs, len(cloud))
	for k, p := range cloud {
		points[k] = plotter.XY{X: p.X, Y: p.Y}
	}
	scatter, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	blue := Palette()[2]
	scatter.GlyphStyle = draw.GlyphStyle{
		Color: color.NRGBA{blue.R, blue.G, blue.B, 0x70}, Radius: vg.Points(1.6), Shape: draw.CircleGlyph{},
	}
	out.Add(scatter)
	return nil
}

// newBars returns the histogram as gonum draws one.
func newBars(b *Bars) *plotter.Histogram {
	width := (b.High - b.Low) / float64(len(b.Counts))
	if width <= 0 {
		width = 1
	}
	bins := make([]plotter.HistogramBin, len(b.Counts))
	for k, n := range b.Counts {
		low := b.Low + float64(k)*width
		bins[k] = plotter.HistogramBin{Min: low, Max: low + width, Weight: float64(n)}
	}
	blue := Palette()[2]
	return &plotter.Histogram{Bins: bins, Width: width, FillColor: blue, LineStyle: draw.LineStyle{Color: color.White, Width: vg.Points(0.3)}}
}
