package notebook

import (
	"math"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

// Curves draws a training run over its batches: the loss, and the validation
// score, called by the metric's name. A nil history, that of a run without a
// batch, is empty.
func Curves(title, metric string, h *train.Result) *Chart {
	if h == nil {
		h = new(train.Result)
	}
	return Draw(curves(title, metric, h.Evaluations))
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

// Comparison sets training runs side by side, several of each method: a table of
// means with their standard errors, and the mean validation curves. The zero
// value is empty.
type Comparison struct {
	Title  string
	Metric string // name of the score

	names []string
	runs  map[string][]*train.Result
}

// Add adds a run of a method. Runs of one name are averaged; names appear in the
// order of their first run. A nil history, that of a run without a batch, does
// not count.
func (c *Comparison) Add(name string, h *train.Result) {
	if h == nil {
		return
	}
	if c.runs == nil {
		c.runs = map[string][]*train.Result{}
	}
	if len(c.runs[name]) == 0 {
		c.names = append(c.names, name)
	}
	c.runs[name] = append(c.runs[name], h)
}

// Test returns the spread of a method's test scores.
func (c *Comparison) Test(name string) study.Spread {
	return c.over(name, func(h *train.Result) float64 { return h.Test })
}

// Valid returns the spread of a method's best validation scores.
func (c *Comparison) Valid(name string) study.Spread {
	return c.over(name, func(h *train.Result) float64 { return h.Best })
}

func (c *Comparison) over(name string, value func(*train.Result) float64) study.Spread {
	var values []float64
	for _, h := range c.runs[name] {
		values = append(values, value(h))
	}
	return study.NewSpread(values)
}

// Sheet returns the table: a row a method, scores as mean ± standard error over
// its runs, and the mean number of batches and milliseconds a batch.
func (c *Comparison) Sheet() *Sheet {
	s := NewSheet(c.Title, "method", "runs", "validation "+c.Metric, "test "+c.Metric, "batches", "training ms/batch", "sampling ms/batch")
	for _, name := range c.names {
		mean := func(value func(*train.Result) float64) float64 { return c.over(name, value).Mean }
		s.Add(name, len(c.runs[name]), c.Valid(name), c.Test(name),
			math.Round(mean(func(h *train.Result) float64 { return float64(h.Batches) })),
			round(mean(func(h *train.Result) float64 { return h.TrainMS })),
			round(mean(func(h *train.Result) float64 { return h.SamplingMS })))
	}
	return s
}

// round leaves one decimal, as many as timings are worth.
func round(v float64) float64 { return math.Round(10*v) / 10 }

// Chart draws the validation scores: of each method the mean over its runs, with
// standard errors, for as long as all of them go on.
func (c *Comparison) Chart() *Chart {
	f := &figure.Figure{Title: c.Title, Panels: []figure.Panel{{X: "batch", Y: "validation " + c.Metric}}}
	for _, name := range c.names {
		f.Panels[0].Lines = append(f.Panels[0].Lines, c.mean(name))
	}
	return Draw(f)
}

// mean averages the validation curves of a method's runs batch by batch, for as
// long as all of them go on.
func (c *Comparison) mean(name string) figure.Series {
	s := figure.Series{Name: name}
	runs := c.runs[name]
	for k, e := range runs[0].Evaluations {
		var values []float64
		for _, h := range runs {
			if k < len(h.Evaluations) && h.Evaluations[k].Batch == e.Batch {
				values = append(values, h.Evaluations[k].Valid)
			}
		}
		if len(values) < len(runs) {
			break
		}
		spread := study.NewSpread(values)
		s.X, s.Y, s.Error = append(s.X, float64(e.Batch)), append(s.Y, spread.Mean), append(s.Error, spread.SEM)
	}
	return s
}
