package notebook

import (
	"fmt"
	"html"
	"strings"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Chart is a picture that a cell shows: a notebook kernel asks the last value of
// a cell for SVG, a terminal prints its title.
type Chart struct {
	title string
	svg   string
}

// SVG returns the picture as an SVG document, scaled down to the width of the
// page where that is narrower.
func (c *Chart) SVG() string { return c.svg }

// String returns the title, for front ends without pictures.
func (c *Chart) String() string { return "chart: " + c.title }

// Draw returns a figure as a chart. One that cannot be drawn becomes a chart of
// the error, since a cell shows values, not errors.
func Draw(f *figure.Figure) *Chart {
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
	return &Chart{title: title, svg: fluid(text.String())}
}

// Plot returns the figure of a study's outcome. One without a figure becomes a
// chart that says so.
func Plot(t study.Table) *Chart {
	f := t.Figure()
	if f == nil {
		const text = "there is nothing to draw"
		return &Chart{title: text, svg: message(text)}
	}
	return Draw(f)
}

// fluid drops what stands before the svg element, which pages that the picture
// is put into do not want, and lets it shrink with the page.
func fluid(svg string) string {
	start := strings.Index(svg, "<svg")
	if start < 0 {
		return svg
	}
	return `<svg style="max-width:100%;height:auto"` + svg[start+len("<svg"):]
}

// message is a picture of a line of text.
func message(text string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="720" height="40" style="max-width:100%%;height:auto" viewBox="0 0 720 40">`+
		`<rect width="720" height="40" fill="white"/><text x="8" y="25" font-family="sans-serif" font-size="13" fill="black">%s</text></svg>`,
		html.EscapeString(text))
}
