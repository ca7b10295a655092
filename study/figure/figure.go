package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/markup"
)

// Figure is one or more panels side by side, with one legend. Series of the same
// name look the same in all panels.
type Figure struct {
	Title   string
	Panels  []Panel
	Columns int // panels in a row; 0 means up to 3
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
	if f == nil || len(f.Panels) == 0 {
		return errors.New("figure: no panels")
	}
	if w == nil {
		return errors.New("figure: no writer")
	}
	width, height, err := f.size()
	if err != nil {
		return err
	}
	svg := &measured{Canvas: vgsvg.New(width, height)}
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
	if f == nil || len(f.Panels) == 0 {
		return errors.New("figure: no panels")
	}
	if w == nil {
		return errors.New("figure: no writer")
	}
	if width < 1 || width > 1<<14 {
		return fmt.Errorf("figure: a picture %d pixels wide, want 1 to %d", width, 1<<14)
	}
	return f.writePNG(w, func(size vg.Length) int { return max(int(float64(width)*float64(vg.Inch)/float64(size)), 1) })
}

// writePNG writes the figure with dots(its width) dots an inch.
func (f *Figure) writePNG(w io.Writer, dots func(width vg.Length) int) error {
	width, height, err := f.size()
	if err != nil {
		return err
	}
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
		place := draw.Crop(tile, vg.Millimeter, -3*vg.Millimeter, vg.Millimeter, -vg.Millimeter)
		keepLabelsApart(p, &f.Panels[k], place)
		p.Draw(place)
	}
	return nil
}

// withFallbacks adds fonts for readers without the font that the widths were
// computed with.
func withFallbacks(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans"), []byte("font-family:"+Fonts))
}
