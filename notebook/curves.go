package notebook

import (
	"math"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// Curves draws the loss and the validation score of a training run over its
// batches. metric is the name of the score. r may be nil, for a run without a batch.
func Curves(title, metric string, r *train.Result) *Chart {
	if r == nil {
		r = new(train.Result)
	}
	return Draw(curves(title, metric, r.Evaluations))
}

func curves(title, metric string, evaluations []train.Evaluation) *figure.Figure {
	var loss, valid figure.Series
	for _, e := range evaluations {
		x := float64(e.Batch)
		loss.X, loss.Y = append(loss.X, x), append(loss.Y, e.Loss)
		valid.X, valid.Y = append(valid.X, x), append(valid.Y, e.Valid)
	}
	return &figure.Figure{Title: title, Panels: []figure.Panel{
		{X: "batch", Y: "training loss", Lines: []figure.Series{loss}},
		{X: "batch", Y: "validation " + metric, Lines: []figure.Series{valid}},
	}}
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
	return c.over(name, func(r *train.Result) float64 { return r.Test })
}

// Valid returns the spread of a method's best validation scores.
func (c *Comparison) Valid(name string) study.Spread {
	return c.over(name, func(r *train.Result) float64 { return r.Best })
}

func (c *Comparison) over(name string, value func(*train.Result) float64) study.Spread {
	var values []float64
	for _, r := range c.runs[name] {
		values = append(values, value(r))
	}
	return study.NewSpread(values)
}

// Sheet returns the table: for each method its scores as mean ± standard error over
// the runs, and the mean number of batches and milliseconds a batch.
func (c *Comparison) Sheet() *Sheet {
	s := NewSheet(c.Title, "method", "runs", "validation "+c.Metric, "test "+c.Metric, "batches", "training ms/batch", "sampling ms/batch")
	for _, name := range c.names {
		mean := func(value func(*train.Result) float64) float64 { return c.over(name, value).Mean }
		s.Add(name, len(c.runs[name]), c.Valid(name), c.Test(name),
			math.Round(mean(func(r *train.Result) float64 { return float64(r.Batches) })),
			round(mean(func(r *train.Result) float64 { return r.TrainMS })),
			round(mean(func(r *train.Result) float64 { return r.SamplingMS })))
	}
	return s
}

// round rounds to one decimal; timings are no more exact.
func round(v float64) float64 { return math.Round(10*v) / 10 }

// Chart draws each method's mean validation score over the runs, with standard
// errors, up to the end of its shortest run.
func (c *Comparison) Chart() *Chart {
	f := &figure.Figure{Title: c.Title, Panels: []figure.Panel{{X: "batch", Y: "validation " + c.Metric}}}
	for _, name := range c.names {
		f.Panels[0].Lines = append(f.Panels[0].Lines, c.mean(name))
	}
	return Draw(f)
}

// mean averages the validation curves of a method's runs batch by batch, up to the
// end of the shortest run.
func (c *Comparison) mean(name string) figure.Series {
	var runs [][]study.CurvePoint
	for _, r := range c.runs[name] {
		var points []study.CurvePoint
		for _, e := range r.Evaluations {
			points = append(points, study.CurvePoint{Batch: e.Batch, X: float64(e.Batch), Y: e.Valid})
		}
		runs = append(runs, points)
	}
	s := figure.Series{Name: name}
	for _, p := range study.MeanCurve(runs) {
		s.X, s.Y, s.Error = append(s.X, p.X), append(s.Y, p.Y.Mean), append(s.Error, p.Y.SEM)
	}
	return s
}
