package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"regexp"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/markup"
)

// Figure is panels side by side, with one legend, or a title alone. Series of the same
// name look the same in all panels.
type Figure struct {
	Title   string
	Panels  []Panel
	Columns int // panels in a row; 0 means up to 3

	NoLegend bool // the names of the series stand elsewhere
}

// Panel is one pair of axes and the marks between them.
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
	Heat    *Heat     // a matrix of cells; it gives both axes names
	Edges   [][2]XY   // thin lines below the points
	Bare    bool      // no axes
	Caption string    // small text below the title
}

// XY is a point.
type XY struct{ X, Y float64 }

// Series is a named sequence of points. The legend leaves out a series without a
// name.
type Series struct {
	Name  string
	X, Y  []float64
	Error []float64 // half the length of each error bar; nil for none
	Band  bool      // Error is drawn as a band around the line
	Thin  bool      // without markers, and a thin line
	Disc  float64   // markers are discs of this radius in points; 0: markers by the series
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

// WriteSVG writes the figure as an SVG document. It leaves out values that are not
// numbers, or beyond 1e290. The error is w's, or names the panel that cannot be
// drawn.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.check(w); err != nil {
		return err
	}
	svg := &measured{Canvas: vgsvg.New(f.Size())}
	if err := f.draw(draw.New(svg)); err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := svg.WriteTo(&text); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	if _, err := w.Write(markup.Clean(withFallbacks(svg.withWidths(text.Bytes())))); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

// check returns an error about a missing argument.
func (f *Figure) check(w io.Writer) error {
	if f == nil || len(f.Panels) == 0 && f.Title == "" {
		return errors.New("figure: no panels")
	}
	if w == nil {
		return errors.New("figure: no writer")
	}
	return nil
}

// svgTag is the start of a document, with the view box.
var svgTag = regexp.MustCompile(`(?s)^.*?<svg [^>]*(viewBox="[^"]*")[^>]*>`)

// Element returns the figure as an svg element of a page. attributes, escaped, stand in the
// place of its size and name space.
func (f *Figure) Element(attributes string) (string, error) {
	var text strings.Builder
	if err := f.WriteSVG(&text); err != nil {
		return "", err
	}
	at := svgTag.FindStringSubmatchIndex(text.String())
	return fmt.Sprintf("<svg %s %s>%s", attributes, text.String()[at[2]:at[3]], text.String()[at[1]:]), nil
}

// Save writes the figure to base.svg and base.png, 150 dots an inch.
func (f *Figure) Save(base string) error {
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	if err := save(base+".svg", &svg); err != nil {
		return err
	}
	const dots = 150
	var png bytes.Buffer
	if err := f.writePNG(&png, func(vg.Length) int { return dots }); err != nil {
		return err
	}
	return save(base+".png", &png)
}

// WritePNG writes the figure as a PNG picture, about width pixels wide.
func (f *Figure) WritePNG(w io.Writer, width int) error {
	if err := f.check(w); err != nil {
		return err
	}
	if width < 1 || width > 1<<14 {
		return fmt.Errorf("figure: a picture %d pixels wide, want 1 to %d", width, 1<<14)
	}
	return f.writePNG(w, func(size vg.Length) int { return max(int(float64(width)*float64(vg.Inch)/float64(size)), 1) })
}

// writePNG writes the figure with dots(its width) dots an inch.
func (f *Figure) writePNG(w io.Writer, dots func(width vg.Length) int) error {
	width, height := f.Size()
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dots(width)), vgimg.UseBackgroundColor(color.White))
	if err := f.draw(draw.New(img)); err != nil {
		return err
	}
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(w); err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

func save(path string, from io.WriterTo) error {
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := from.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("figure: %w", err)
	}
	return nil
}

func (f *Figure) grid() (columns, rows int) {
	columns = f.Columns
	if columns <= 0 {
		columns = max(1, min(len(f.Panels), 3))
	}
	return columns, (len(f.Panels) + columns - 1) / columns
}

// Size returns the size of the figure in points.
func (f *Figure) Size() (width, height vg.Length) {
	columns, rows := f.grid()
	width, height = vg.Length(columns)*panelWidth, vg.Length(rows)*panelHeight
	if w := legendWidth(f.legend()); w > 0 {
		width += w + 2*legendMargin
	}
	if f.Title != "" {
		height += titleHeight
		width = max(width, f.titleStyle().Width(f.Title)+2*legendMargin)
	}
	return width, height
}

func (f *Figure) titleStyle() draw.TextStyle {
	text := plot.New().Title.TextStyle
	sans(&text)
	text.Font.Size = font.Points(textSize + 2)
	text.XAlign, text.YAlign = draw.XCenter, draw.YCenter
	return text
}

// draw draws the title, the panels row by row and the legend to their right.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if f.Title != "" {
		text := f.titleStyle()
		at := vg.Point{X: c.Center().X, Y: c.Max.Y - titleHeight/2}
		c.FillText(text, at, f.Title)
		c = draw.Crop(c, 0, 0, 0, -titleHeight)
	}
	legend := f.legend()
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
		place := draw.Crop(tile, vg.Millimeter, -3*vg.Millimeter, vg.Millimeter, -vg.Millimeter)
		keepLabelsApart(p, &f.Panels[k], place)
		p.Draw(place)
	}
	return nil
}

// withFallbacks adds fonts for readers without the font that the widths were
// computed with.
func withFallbacks(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans"), []byte("font-family:"+fonts))
}
