package figure

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"
	"regexp"
	"slices"

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
	FromZero    bool     // the y axis begins at 0; not with LogY
	Names       []string // labels of x = 0, 1, 2 …, in the place of numbers

	Points  []Series // marked only, with error bars
	Lines   []Series // joined, with markers and error bars, above the points
	Bars    *Bars    // a histogram
	Caption string   // small text below the title
}

// Series is a named sequence of points. The legend leaves out a series without a
// name.
type Series struct {
	Name  string
	X, Y  []float64
	Error []float64 // half the length of each error bar; nil for none
	Band  bool      // Error is drawn as a band around the line
	Plain bool      // without markers
	Thin  bool      // without markers, and a thin translucent line
	Cloud bool      // many points: small translucent markers of one colour

	joined bool // set by numbers: it is a line in a panel
}

// Add adds a point, with half the length of its error bar.
func (s *Series) Add(x, y, bar float64) {
	s.X, s.Y, s.Error = append(s.X, x), append(s.Y, y), append(s.Error, bar)
}

// Straight returns the line y = intercept + slope·x over the range of some places. Places that
// are not numbers do not count.
func Straight(name string, intercept, slope float64, places []float64) Series {
	places = slices.DeleteFunc(slices.Clone(places), func(x float64) bool { return !drawable(x, false) })
	if len(places) == 0 {
		return Series{Name: name}
	}
	low, high := slices.Min(places), slices.Max(places)
	return Series{Name: name, X: []float64{low, high}, Y: []float64{intercept + slope*low, intercept + slope*high}, Plain: true}
}

// Bars is a histogram: bars of equal width between Low and High.
type Bars struct {
	Low    float64 `json:"low"`  // left edge of the first bar
	High   float64 `json:"high"` // right edge of the last, which belongs to it
	Counts []int   `json:"counts"`
}

const (
	panelWidth   = 12 * vg.Centimeter
	panelHeight  = 9 * vg.Centimeter
	titleHeight  = 1 * vg.Centimeter
	legendMargin = 0.4 * vg.Centimeter
	textSize     = 11

	// fonts are the font families of a chart's text. Widths are computed with the first; the
	// others are close to it.
	fonts = "Liberation Sans,Arimo,Arial,Helvetica,sans-serif"
)

// SVG returns the figure as an SVG document. It leaves out values that are not numbers, or
// beyond 1e290. The error names the panel that cannot be drawn.
func (f *Figure) SVG() ([]byte, error) {
	if f == nil || len(f.Panels) == 0 && f.Title == "" {
		return nil, errors.New("figure: no panels")
	}
	svg := &measured{Canvas: vgsvg.New(f.Size())}
	if err := f.draw(draw.New(svg)); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err := svg.WriteTo(&text); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	withFonts := bytes.ReplaceAll(svg.withWidths(text.Bytes()), []byte("font-family:Liberation Sans"), []byte("font-family:"+fonts))
	return markup.Clean(withFonts), nil
}

// measured is an SVG canvas that keeps the width of each text, in the font that the layout
// was computed with.
type measured struct {
	*vgsvg.Canvas
	widths []float64 // in points
}

// FillString implements vg.Canvas.
func (m *measured) FillString(face font.Face, at vg.Point, text string) {
	m.widths = append(m.widths, face.Width(text).Points())
	m.Canvas.FillString(face, at, text)
}

var textTag = regexp.MustCompile(`<text `)

// withWidths gives each text of the document its width, so that a reader that has another
// font fits the text into the same place.
func (m *measured) withWidths(svg []byte) []byte {
	next := 0
	return textTag.ReplaceAllFunc(svg, func(tag []byte) []byte { // a text is escaped, so it holds no tag
		if next++; m.widths[next-1] > 0 {
			return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" `, m.widths[next-1])
		}
		return tag
	})
}

// svgTag is the start of a document, with the view box.
var svgTag = regexp.MustCompile(`(?s)^.*?<svg [^>]*(viewBox="[^"]*")[^>]*>`)

// Element returns the figure as an svg element of a page. attributes, escaped, stand in the
// place of its size and name space.
func (f *Figure) Element(attributes string) (string, error) {
	text, err := f.SVG()
	if err != nil {
		return "", err
	}
	at := svgTag.FindSubmatchIndex(text)
	return fmt.Sprintf("<svg %s %s>%s", attributes, text[at[2]:at[3]], text[at[1]:]), nil
}

// PNG returns the figure as a PNG picture, about width pixels wide.
func (f *Figure) PNG(width int) ([]byte, error) {
	if f == nil || len(f.Panels) == 0 && f.Title == "" || width < 1 || width > 1<<14 {
		return nil, fmt.Errorf("figure: no panels, or a picture %d pixels wide: want 1 to %d", width, 1<<14)
	}
	w, h := f.Size()
	img := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(max(int(float64(width)*float64(vg.Inch/w)), 1)), vgimg.UseBackgroundColor(color.White))
	if err := f.draw(draw.New(img)); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: img}).WriteTo(&text); err != nil {
		return nil, fmt.Errorf("figure: %w", err)
	}
	return text.Bytes(), nil
}

// Save writes the figure to base.svg and base.png, 150 dots an inch.
func (f *Figure) Save(base string) error {
	svg, err := f.SVG()
	if err != nil {
		return err
	}
	width, _ := f.Size()
	png, err := f.PNG(min(int(150*width/vg.Inch)+1, 1<<14))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{base + ".svg": svg, base + ".png": png} {
		err := atomicfile.Write(name, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
		if err != nil {
			return fmt.Errorf("figure: %w", err)
		}
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
	sans(&text, textSize+2)
	text.XAlign, text.YAlign = draw.XCenter, draw.YCenter
	return text
}

// sans makes a text style sans-serif, which is easier to read at small sizes.
func sans(t *draw.TextStyle, size float64) {
	t.Font.Variant, t.Font.Size = "Sans", font.Points(size)
}

// draw draws the title, the panels row by row and the legend to their right.
func (f *Figure) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	if f.Title != "" {
		c.FillText(f.titleStyle(), vg.Point{X: c.Center().X, Y: c.Max.Y - titleHeight/2}, f.Title)
		c = draw.Crop(c, 0, 0, 0, -titleHeight)
	}
	legend := f.legend()
	if w := legendWidth(legend); w > 0 {
		legend.Draw(draw.Crop(c, c.Max.X-c.Min.X-w-legendMargin, -legendMargin, 0, -legendMargin))
		c = draw.Crop(c, 0, -w-2*legendMargin, 0, 0)
	}
	columns, rows := f.grid()
	tiles := draw.Tiles{Cols: columns, Rows: rows}
	for k := range f.Panels {
		p, err := f.panel(&f.Panels[k])
		if err != nil {
			return fmt.Errorf("figure: panel %q: %w", f.Panels[k].Title, err)
		}
		p.Draw(draw.Crop(tiles.At(c, k%columns, k/columns), vg.Millimeter, -3*vg.Millimeter, vg.Millimeter, -vg.Millimeter))
	}
	return nil
}
