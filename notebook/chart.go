package notebook

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Chart is a picture in a cell's output. A notebook kernel asks the last value of a
// cell for SVG and PNG, and a front end shows one of them; a terminal prints its title.
type Chart struct {
	figure *figure.Figure
	svg    string
	width  float64 // in pixels
}

// SVG returns the picture as an SVG document that fits a notebook's page.
func (c *Chart) SVG() string { return c.svg }

// PNG returns the picture as a PNG document, for front ends and exports without SVG. It is
// drawn at each call, which takes up to 0.1 s. It is empty for the zero value.
func (c *Chart) PNG() []byte {
	const scale = 1.5 // pixels of the picture to a pixel of the page, so that it is sharp on most screens
	picture, err := c.figure.PNG(int(scale * c.width))
	if err != nil { // of the zero value: Draw has drawn the others
		return nil
	}
	return picture
}

// String returns the title, for front ends without pictures.
func (c *Chart) String() string {
	if f := c.figure; f != nil && f.Title == "" && len(f.Panels) > 0 {
		return "chart: " + f.Panels[0].Title
	} else if f != nil {
		return "chart: " + f.Title
	}
	return "chart"
}

// widest is the largest width of a chart in CSS pixels: the width of Jupyter
// Notebook's output column in a window of 1000 pixels. Jupyter takes the size from
// the attributes and ignores the style.
const widest = 760

// Draw returns a figure as a chart. If the figure cannot be drawn, the chart shows
// the error, since a cell shows values, not errors.
func Draw(f *figure.Figure) *Chart {
	if f == nil {
		f = &figure.Figure{Title: "there is nothing to draw"}
	}
	width, height := f.Size()
	scale := min(96.0/72, widest/width.Points()) // pixels a point
	svg, err := f.Element(fmt.Sprintf(`width="%.0f" height="%.0f" style="max-width:100%%" xmlns="http://www.w3.org/2000/svg"`, width.Points()*scale, height.Points()*scale))
	if err != nil {
		return Draw(&figure.Figure{Title: err.Error()})
	}
	return &Chart{f, svg, width.Points() * scale}
}

// Plot returns the figure of a study's outcome. If the outcome has no figure, the
// chart says so.
func Plot(t study.Table) *Chart {
	if argument.Nil(t) {
		return Draw(nil)
	}
	return Draw(t.Figure())
}
