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
)

//go:embed page.html
var pageText string

// Page is the HTML page of some runs.
type Page struct {
	Title   string
	Runs    []Run
	Machine machine.Machine // the machine that makes the page
}

// Write writes the page. It is an error if there are no runs.
func (p *Page) Write(w io.Writer) error {
	if len(p.Runs) == 0 {
		return errors.New("report: a page needs at least one run")
	}
	number := func(x study.Number) string { return study.Text(float64(x)) }
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
	Sections []section // one a data set
	Means    bool      // some curves are means over runs
	Settings [][]string
}

// section holds the scores, curves, runs and settings on one data set.
type section struct {
	Data, Metric string
	Groups       []group
	Charts       []template.HTML
	Rows         []row
	Differ       [][]string // settings that differ between runs: the name, and the value of each group
}

// group is a row of the table of scores.
type group struct {
	Number int
	Colour string
	*Method
}

func (p *Page) view() view {
	var runs []*Run
	for k := range p.Runs {
		runs = append(runs, &p.Runs[k])
	}
	differ, shared := settings(runs)
	v := view{Page: p, Settings: shared}
	for _, s := range split(p.Runs) {
		out := section{Data: s.data, Metric: s.metric, Rows: s.rows, Charts: s.charts()}
		for n, m := range s.methods {
			c := figure.Color(n)
			out.Groups = append(out.Groups, group{n + 1, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), m})
			v.Means = v.Means || m.Runs > 1
		}
		for _, name := range differ {
			if slices.Contains([]string{"data", "method", "samples", "seed"}, name) { // shown elsewhere
				continue
			}
			row := []string{name}
			for _, m := range s.methods {
				row = append(row, m.runs[0].setting(name))
			}
			out.Differ = append(out.Differ, row)
		}
		v.Sections = append(v.Sections, out)
	}
	return v
}

// charts draws loss and validation score over batches and over seconds.
func (s *set) charts() (charts []template.HTML) {
	batches, seconds := func(q Point) float64 { return float64(q.Batch) }, func(q Point) float64 { return q.Seconds }
	valid, loss := func(q Point) float64 { return float64(q.Valid) }, func(q Point) float64 { return float64(q.Loss) }
	for _, c := range []struct {
		title, x, y string
		over, of    func(Point) float64
	}{
		{"Validation " + s.metric, "batches", s.metric, batches, valid},
		{"Validation " + s.metric, "seconds", s.metric, seconds, valid},
		{"Training loss", "batches", "loss", batches, loss},
		{"Training loss", "seconds", "loss", seconds, loss},
	} {
		panel := figure.Panel{Title: c.title + " over " + c.x, X: c.x, Y: c.y}
		for _, m := range s.methods {
			panel.Lines = append(panel.Lines, m.lines(c.over, c.of)...)
		}
		charts = append(charts, inline(&figure.Figure{Panels: []figure.Panel{panel}, NoLegend: true}))
	}
	return charts
}

// lines returns a line for each run. Of several runs they are thin, and above them is a line of
// means with a band of one standard deviation, at the batches that all of them have. The x
// of a mean is the mean of the runs' x at that batch.
func (m *Method) lines(x, y func(Point) float64) []figure.Series {
	var lines []figure.Series
	var runs [][]Point
	for _, r := range m.runs {
		l := figure.Series{Name: m.Name, Thin: len(m.runs) > 1}
		for _, q := range r.Points {
			l.X, l.Y = append(l.X, x(q)), append(l.Y, y(q))
		}
		lines, runs = append(lines, l), append(runs, r.Points)
	}
	if len(m.runs) > 1 {
		mean := study.MeanCurve(m.Name, runs, func(q Point) (int, float64, float64) { return q.Batch, x(q), y(q) }, func(s study.Spread) float64 { return s.SD })
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
	if field == "stop" && !r.done {
		text = "not done"
	}
	return cmp.Or(text, "–")
}
