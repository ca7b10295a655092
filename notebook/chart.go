package notebook

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Chart is a picture in a cell's output. A notebook kernel asks the last value of a
// cell for SVG and PNG, and a front end shows one of them; a terminal prints its title.
type Chart struct {
	title string
	svg   string
	png   func(w io.Writer) error // writes the picture as PNG
}

// SVG returns the picture as an SVG document that fits a notebook's page.
func (c *Chart) SVG() string { return c.svg }

// PNG returns the picture as a PNG document, for front ends and exports without SVG. It is
// drawn at each call, which takes up to 0.1 s. It is empty for the zero value.
func (c *Chart) PNG() []byte {
	if c.png == nil {
		return nil
	}
	var b bytes.Buffer
	if err := c.png(&b); err != nil { // SVG shows why, if the figure cannot be drawn
		return nil
	}
	return b.Bytes()
}

// String returns the title, for front ends without pictures.
func (c *Chart) String() string { return "chart: " + c.title }

// Draw returns a figure as a chart. If the figure cannot be drawn, the chart shows
// the error, since a cell shows values, not errors.
func Draw(f *figure.Figure) *Chart {
	if f == nil {
		return nothing()
	}
	title := f.Title
	for _, p := range f.Panels {
		if title == "" {
			title = p.Title
		}
	}
	var text strings.Builder
	if err := f.WriteSVG(&text); err != nil {
		return message(err.Error())
	}
	svg, width := fit(text.String())
	return &Chart{title: title, svg: svg, png: func(w io.Writer) error { return f.WritePNG(w, int(pngScale*width)) }}
}

// Plot returns the figure of a study's outcome. If the outcome has no figure, the
// chart says so.
func Plot(t study.Table) *Chart {
	if argument.Nil(t) {
		return nothing()
	}
	return Draw(t.Figure())
}

func nothing() *Chart {
	return message("there is nothing to draw")
}

// widest is the largest width of a chart in CSS pixels: the width of Jupyter
// Notebook's output column in a window of 1000 pixels. Jupyter takes the size from
// the attributes and ignores the style.
const widest = 760

// svgSize finds the size in the tag that gonum writes.
var svgSize = regexp.MustCompile(`<svg width="([0-9.]+)pt" height="([0-9.]+)pt"`)

// fit removes the text before the svg element, which does not belong into a page,
// and gives the picture a size in pixels that fits a page. It returns the width.
func fit(svg string) (fitted string, width float64) {
	at := svgSize.FindStringSubmatchIndex(svg)
	if at == nil {
		return svg, widest
	}
	width, _ = strconv.ParseFloat(svg[at[2]:at[3]], 64) // both match a number
	height, _ := strconv.ParseFloat(svg[at[4]:at[5]], 64)
	const pixels = 96.0 / 72 // a point
	scale := pixels
	if width*scale > widest {
		scale = widest / width
	}
	return fmt.Sprintf(`<svg width="%.0f" height="%.0f" style="max-width:100%%"`, width*scale, height*scale) + svg[at[1]:], width * scale
}

// message returns a picture of a line of text.
func message(text string) *Chart {
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="720" height="40" style="max-width:100%%" viewBox="0 0 720 40">`+
		`<rect width="720" height="40" fill="white"/><text %sx="8" y="25" font-family="%s" font-size="13" fill="black">%s</text></svg>`,
		figure.TextLength(text, 13, 704), figure.Fonts, html.EscapeString(text))
	return &Chart{title: text, svg: string(markup.Clean([]byte(svg))), png: func(w io.Writer) error {
		return writePNG(w, 720, 40, func(p *painter) { p.text(text, 8, 25, 13, 704) })
	}}
}
