package notebook

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
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

// Curves draws the loss and the validation score of a training run over its
// batches. metric is the name of the score. r may be nil, for a run without a batch.
func Curves(title, metric string, r *train.Result) *Chart {
	if r == nil {
		r = new(train.Result)
	}
	line := func(value func(train.Evaluation) float64) []figure.Series {
		return figure.Curves(r.Evaluations, func(e train.Evaluation) (string, float64, float64, float64) {
			return "", float64(e.Batch), value(e), 0
		})
	}
	return Draw(&figure.Figure{Title: title, Panels: []figure.Panel{
		{X: "batch", Y: "training loss", Lines: line(func(e train.Evaluation) float64 { return e.Loss })},
		{X: "batch", Y: "validation " + metric, Lines: line(func(e train.Evaluation) float64 { return e.Valid })},
	}})
}

// Comparison compares methods by several training runs of each: a table of means
// with standard errors, and the mean validation curves. The zero value is empty.
type Comparison struct {
	Title  string
	Metric string // name of the score

	names []string
	runs  map[string][]*train.Result
}

// Add adds a run of the method of that name. Methods appear in the order of their
// first run. A nil result, of a run without a batch, is ignored.
func (c *Comparison) Add(name string, r *train.Result) {
	if r == nil {
		return
	}
	if c.runs == nil {
		c.runs = map[string][]*train.Result{}
	}
	if len(c.runs[name]) == 0 {
		c.names = append(c.names, name)
	}
	c.runs[name] = append(c.runs[name], r)
}

// Test returns the spread of a method's test scores.
func (c *Comparison) Test(name string) study.Spread {
	return study.SpreadOf(c.runs[name], func(r *train.Result) float64 { return r.Test })
}

// Valid returns the spread of a method's best validation scores.
func (c *Comparison) Valid(name string) study.Spread {
	return study.SpreadOf(c.runs[name], func(r *train.Result) float64 { return r.Best })
}

// Sheet returns the table: for each method its scores as mean ± standard error over
// the runs, and the mean number of batches and milliseconds a batch.
func (c *Comparison) Sheet() *Sheet {
	s := NewSheet(c.Title, "method", "runs", "validation "+c.Metric, "test "+c.Metric,
		"batches", "training ms/batch", "sampling ms/batch")
	for _, name := range c.names {
		runs := c.runs[name]
		s.Add(name, len(runs), c.Valid(name), c.Test(name),
			study.SpreadOf(runs, func(r *train.Result) float64 { return float64(r.Batches) }).Mean,
			study.SpreadOf(runs, func(r *train.Result) float64 { return r.TrainMS }).Mean,
			study.SpreadOf(runs, func(r *train.Result) float64 { return r.SamplingMS }).Mean)
	}
	return s
}

// Chart draws each method's mean validation score over the runs, with standard
// errors, up to the end of its shortest run.
func (c *Comparison) Chart() *Chart {
	panel := figure.Panel{X: "batch", Y: "validation " + c.Metric}
	for _, name := range c.names {
		var runs [][]train.Evaluation
		for _, r := range c.runs[name] {
			runs = append(runs, r.Evaluations)
		}
		batch := func(e train.Evaluation) float64 { return float64(e.Batch) }
		valid := func(e train.Evaluation) float64 { return e.Valid }
		mean := study.MeanCurve(name, runs, batch, valid, func(s study.Spread) float64 { return s.SEM })
		panel.Lines = append(panel.Lines, mean)
	}
	return Draw(&figure.Figure{Title: c.Title, Panels: []figure.Panel{panel}})
}
