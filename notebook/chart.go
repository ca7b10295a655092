package notebook

import (
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Chart is a picture in a cell's output. A notebook kernel asks the last value of a
// cell for SVG; a terminal prints its title.
type Chart struct {
	title string
	svg   string
}

// SVG returns the picture as an SVG document that fits a notebook's page.
func (c *Chart) SVG() string { return c.svg }

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
		return &Chart{title: err.Error(), svg: message(err.Error())}
	}
	return &Chart{title: title, svg: fit(text.String())}
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
	const text = "there is nothing to draw"
	return &Chart{title: text, svg: message(text)}
}

// widest is the largest width of a chart in CSS pixels: the width of Jupyter
// Notebook's output column in a window of 1000 pixels. Jupyter takes the size from
// the attributes and ignores the style.
const widest = 760

// svgSize finds the size in the tag that gonum writes.
var svgSize = regexp.MustCompile(`<svg width="([0-9.]+)pt" height="([0-9.]+)pt"`)

// fit removes the text before the svg element, which does not belong into a page,
// and gives the picture a size in pixels that fits a page.
func fit(svg string) string {
	at := svgSize.FindStringSubmatchIndex(svg)
	if at == nil {
		return svg
	}
	width, _ := strconv.ParseFloat(svg[at[2]:at[3]], 64) // both match a number
	height, _ := strconv.ParseFloat(svg[at[4]:at[5]], 64)
	const pixels = 96.0 / 72 // a point
	scale := pixels
	if width*scale > widest {
		scale = widest / width
	}
	return fmt.Sprintf(`<svg width="%.0f" height="%.0f" style="max-width:100%%"`, width*scale, height*scale) + svg[at[1]:]
}

// message returns a picture of a line of text.
func message(text string) string {
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="720" height="40" style="max-width:100%%" viewBox="0 0 720 40">`+
		`<rect width="720" height="40" fill="white"/><text %sx="8" y="25" font-family="%s" font-size="13" fill="black">%s</text></svg>`,
		figure.TextLength(text, 13, 704), figure.Fonts, html.EscapeString(text))
	return string(markup.Clean([]byte(svg)))
}
