package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
	"github.com/gcn-layerwise/gcn/train"
)

//go:embed page.html
var pageText string

// Page is the HTML page of some runs.
type Page struct {
	Title   string
	Runs    []*Run
	Machine machine.Machine // the machine that makes the page
}

// Write writes the page. It is an error if there are no runs.
func (p *Page) Write(w io.Writer) error {
	if len(p.Runs) == 0 {
		return errors.New("report: a page needs at least one run")
	}
	number := func(x finite.Number) string { return study.Text(float64(x)) }
	t := template.Must(template.New("page").Funcs(template.FuncMap{"number": number}).Parse(pageText))
	var text bytes.Buffer
	err := t.Execute(&text, p.view())
	if err == nil {
		_, err = w.Write(markup.Clean(text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// view is the data of the template.
type view struct {
	*Page
	Sections []*set
	Differ   []string   // settings that differ between all runs
	Settings [][]string // the others, with their values
}

func (p *Page) view() view {
	differ, shared := settings(p.Runs)
	differ = slices.DeleteFunc(differ, func(name string) bool { return slices.Contains([]string{"data", "method", "samples", "seed"}, name) }) // shown elsewhere
	return view{p, split(p.Runs), differ, shared}
}

// Charts draws loss and validation score over batches and over seconds.
func (s *set) Charts() (charts []template.HTML) {
	for k, title := range []string{"Validation " + s.Metric, "Training loss"} {
		for j, axis := range []string{"batches", "seconds"} {
			x := func(q train.Evaluation) float64 { return []float64{float64(q.Batch), q.Seconds}[j] }
			y := func(q train.Evaluation) float64 { return []float64{q.Valid, q.Loss}[k] }
			panel := figure.Panel{
				Title: title + " over " + axis,
				X:     axis,
				Y:     []string{s.Metric, "loss"}[k],
			}
			for _, m := range s.Methods {
				panel.Lines = append(panel.Lines, m.lines(x, y)...)
			}
			charts = append(charts, inline(&figure.Figure{Panels: []figure.Panel{panel}, NoLegend: true}))
		}
	}
	return charts
}

// lines returns a line for each run. Of several runs they are thin, and above them is a line of
// means with a band of one standard deviation, at the batches that all of them have. The x
// of a mean is the mean of the runs' x at that batch.
func (m *Method) lines(x, y func(train.Evaluation) float64) []figure.Series {
	var lines []figure.Series
	var runs [][]train.Evaluation
	for _, r := range m.Runs {
		l := figure.Series{Name: m.Name, Thin: len(m.Runs) > 1}
		for _, q := range r.Points {
			l.Add(x(q), y(q), 0)
		}
		lines, runs = append(lines, l), append(runs, r.Points)
	}
	if len(m.Runs) > 1 {
		mean := study.MeanCurve(m.Name, runs, x, y, func(s study.Spread) float64 { return s.SD })
		mean.Band = true
		lines = append(lines, mean)
	}
	return lines
}

// inline returns a figure as an element of the page, or the reason why it cannot be drawn.
func inline(f *figure.Figure) template.HTML {
	text, err := f.Element(`role="img" aria-label="` + html.EscapeString(f.Panels[0].Title) + `"`)
	if err != nil {
		return template.HTML(html.EscapeString(err.Error()))
	}
	return template.HTML(text) // every text in it is escaped
}

// Shown writes a result or a setting for the table of runs.
func (r *Run) Shown(field string) string {
	text := r.text(field)
	if v := r.number(field); finite.Is(v) && v != math.Trunc(v) {
		text = study.Text(v)
	}
	if nodes := r.text(strings.TrimPrefix(field, "best_") + "_sample"); nodes != "" {
		text += fmt.Sprintf(" ± %.2g (sample of %s nodes)", r.number(field+"_se"), nodes)
	}
	return cmp.Or(text, "–")
}
