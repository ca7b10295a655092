package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one or more panels side by side, with one legend. Series of the same
// name look the same in all panels.
type Figure struct {
	Title   string
	Panels  []Panel
	Columns int // panels in a row; 0 means up to 3
}

// Panel is one pair of axes and what is drawn between them.
type Panel struct {
	Title, X, Y string
	LogX, LogY  bool
	Decades     bool     // with LogX: ticks at powers of ten, not of two
	FromZero    bool     // the y axis begins at 0; not with LogY
	Names       []string // labels of x = 0, 1, 2 …, in the place of numbers

	Lines   []Series  // joined, with markers and error bars
	Points  []Series  // marked only, with error bars
	Cloud   []XY      // many small translucent points
	Fit     *Straight // a straight line over the panel
	Bars    *Bars     // a histogram
	Caption string    // small text below the title
}

// XY is a point.
type XY struct{ X, Y float64 }

// Series is a named sequence of points.
type Series struct {
	Name  string
	X, Y  []float64
	Error []float64 // half the length of each error bar; nil for none
}

// Straight is the line y = Intercept + Slope·x, named in the legend.
type Straight struct {
	Name             string
	Intercept, Slope float64
}

// Bars is a histogram: bars of equal width between Low and High.
type Bars struct {
	Low, High float64
	Counts    []int
}

const (
	panelWidth   = 12 * vg.Centimeter
	panelHeight  = 9 * vg.Centimeter
	titleHeight  = 1 * vg.Centimeter
	legendMargin = 0.4 * vg.Centimeter
	textSize     = 11
)

// Save writes the figure to base.svg and base.png, 150 dots an inch.
func (f *Figure) Save(base string) error {
	if len(f.Panels) == 0 {
		return errors.New("figure: no panels")
	}
	width, height, err := f.size()
	if err != nil {
		return err
	}
	svg := vgsvg.New(width, height)
	if err := f.draw(draw.New(svg)); err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := svg.WriteTo(&text); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if err := os.WriteFile(base+".svg", withFallbacks(text.Bytes()), 0o666); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(150), vgimg.UseBackgroundColor(color.White))
	if err := f.draw(draw.New(img)); err != nil {
		return err
	}
	png := vgimg.PngCanvas{Canvas: img}
	return write(base+".png", png.WriteTo)
}

func (f *Figure) grid() (columns, rows int) {
	columns = f.Columns
	if columns <= 0 {
		columns = min(len(f.Panels), 3)
	}
	return columns, (len(f.Panels) + columns - 1) / columns
}

func (f *Figure) size() (width, height vg.Length, err error) {
	columns, rows := f.grid()
	legend, err := f.legend()
	if err != nil {
		return 0, 0, err
	}
	width, height = vg.Length(columns)*panelWidth, vg.Length(rows)*panelHeight
	if w := legendWidth(legend); w > 0 {
		width += w + 2*legendMargin
	}
	if f.Title != "" {
		height += titleHeight
	}
	return width, height, nil
}

// draw draws the title, the panels row by row and the legend to their right.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if f.Title != "" {
		text := plot.New().Title.TextStyle
		sans(&text)
		text.Font.Size = font.Points(textSize + 2)
		text.XAlign, text.YAlign = draw.XCenter, draw.YCenter
		at := vg.Point{X: c.Center().X, Y: c.Max.Y - titleHeight/2}
		c.FillText(text, at, f.Title)
		c = draw.Crop(c, 0, 0, 0, -titleHeight)
	}
	legend, err := f.legend()
	if err != nil {
		return err
	}
	if w := legendWidth(legend); w > 0 {
		strip := draw.Crop(c, c.Max.X-c.Min.X-w-legendMargin, -legendMargin, 0, -legendMargin)
		legend.Top, legend.Left = true, true
		legend.Draw(strip)
		c = draw.Crop(c, 0, -w-2*legendMargin, 0, 0)
	}
	columns, rows := f.grid()
	tiles := draw.Tiles{Cols: columns, Rows: rows}
	for k := range f.Panels {
		p, err := f.panel(&f.Panels[k])
		if err != nil {
			return fmt.Errorf("figure: panel %q: %w", f.Panels[k].Title, err)
		}
		tile := tiles.At(c, k%columns, k/columns)
		p.Draw(draw.Crop(tile, vg.Millimeter, -3*vg.Millimeter, vg.Millimeter, -vg.Millimeter))
	}
	return nil
}

// numbers gives every series its number over all panels.
func (f *Figure) numbers() (names []string, number map[string]int) {
	number = map[string]int{}
	for _, p := range f.Panels {
		for _, s := range append(append([]Series{}, p.Lines...), p.Points...) {
			if _, seen := number[s.Name]; !seen {
				number[s.Name] = len(names)
				names = append(names, s.Name)
			}
		}
	}
	return names, number
}

// legend lists every series and fitted line once.
func (f *Figure) legend() (*plot.Legend, error) {
	l := plot.NewLegend()
	sans(&l.TextStyle)
	l.TextStyle.Font.Size = font.Points(textSize - 1)
	l.ThumbnailWidth = 1.2 * vg.Centimeter
	l.Padding = vg.Millimeter
	names, number := f.numbers()
	for _, name := range names {
		line, err := plotter.NewLine(plotter.XYs{{}})
		if err != nil {
			return nil, err
		}
		points, err := plotter.NewScatter(plotter.XYs{{}})
		if err != nil {
			return nil, err
		}
		line.LineStyle, points.GlyphStyle = style(number[name])
		if f.onlyPoints(name) {
			l.Add(name, points)
		} else {
			l.Add(name, line, points)
		}
	}
	seen := map[string]bool{}
	for _, p := range f.Panels {
		if p.Fit != nil && !seen[p.Fit.Name] {
			seen[p.Fit.Name] = true
			line, err := plotter.NewLine(plotter.XYs{{}})
			if err != nil {
				return nil, err
			}
			line.LineStyle = fitStyle()
			l.Add(p.Fit.Name, line)
		}
	}
	return &l, nil
}

func (f *Figure) onlyPoints(name string) bool {
	for _, p := range f.Panels {
		for _, s := range p.Lines {
			if s.Name == name {
				return false
			}
		}
	}
	return true
}

// legendWidth returns the room that a legend needs, 0 for an empty one.
func legendWidth(l *plot.Legend) vg.Length {
	c := vgimg.New(50*vg.Centimeter, 50*vg.Centimeter)
	return l.Rectangle(draw.New(c)).Size().X
}

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

// withFallbacks names fonts for readers who do not have the one that widths were
// computed with.
func withFallbacks(svg []byte) []byte {
	const font = "font-family:Liberation Sans"
	return bytes.ReplaceAll(svg, []byte(font), []byte(font+",Arimo,Arial,Helvetica,sans-serif"))
}

// write writes a file by a WriteTo method.
func write(path string, to func(io.Writer) (int64, error)) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	_, err = to(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("figure: %s: %w", path, err)
	}
	return nil
}
