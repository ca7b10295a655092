package notebook

import (
	"bytes"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Chart is a picture in a cell's output. A notebook kernel asks the last value of a
// cell for SVG and PNG, and a front end shows one of them; a terminal prints its title.
type Chart struct {
	title  string
	svg    string
	width  float64 // in pixels
	figure *figure.Figure
}

// SVG returns the picture as an SVG document that fits a notebook's page.
func (c *Chart) SVG() string { return c.svg }

// PNG returns the picture as a PNG document, for front ends and exports without SVG. It is
// drawn at each call, which takes up to 0.1 s. It is empty for the zero value.
func (c *Chart) PNG() []byte {
	if c.figure == nil {
		return nil
	}
	var b bytes.Buffer
	if err := c.figure.WritePNG(&b, int(pngScale*c.width)); err != nil { // SVG shows why, if the figure cannot be drawn
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
	width, height := f.Size()
	scale := min(96.0/72, widest/float64(width)) // pixels a point
	svg, err := f.Element(fmt.Sprintf(`width="%.0f" height="%.0f" style="max-width:100%%" xmlns="http://www.w3.org/2000/svg"`, float64(width)*scale, float64(height)*scale))
	if err != nil {
		return message(err.Error())
	}
	return &Chart{title, svg, float64(width) * scale, f}
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

// pngScale is the number of pixels of a PNG picture to a pixel of the page, so that it is
// sharp on most screens.
const pngScale = 1.5

// widest is the largest width of a chart in CSS pixels: the width of Jupyter
// Notebook's output column in a window of 1000 pixels. Jupyter takes the size from
// the attributes and ignores the style.
const widest = 760

// message returns a picture of a line of text.
func message(text string) *Chart { return Draw(&figure.Figure{Title: text}) }
