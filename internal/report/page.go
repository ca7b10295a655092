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
	Note         string // about the scores
	Groups       []group
	Charts       []template.HTML
	Rows         []row
	Differ       [][]string // settings that differ between runs: the name, and the value of each group
}

// group is a row of the table of scores.
type group struct {
	Number int
	Colour string
	Method
}

func (p *Page) view() view {
	differ, shared := settings(p.Runs)
	v := view{Page: p, Settings: shared}
	for _, s := range split(p.Runs) {
		of := s.section()
		for _, name := range differ {
			if slices.Contains([]string{"data", "method", "samples", "seed"}, name) { // shown elsewhere
				continue
			}
			row := []string{name}
			for g := range s.names {
				row = append(row, s.text(slices.Index(s.of, g), name))
			}
			of.Differ = append(of.Differ, row)
		}
		v.Means = v.Means || slices.ContainsFunc(of.Groups, func(g group) bool { return g.Runs > 1 })
		v.Sections = append(v.Sections, of)
	}
	return v
}

// section makes the table of scores of the groups, and their charts: test
// scores, and loss and validation score over batches and over seconds.
func (s *set) section() section {
	out := section{Data: s.data, Metric: s.metric(), Note: s.ofSamples()}
	tests := figure.Panel{Title: "Test " + out.Metric + out.Note, X: "number in the table", Y: out.Metric}
	tested := false
	for n, m := range s.methods() {
		c := figure.Color(n)
		out.Groups = append(out.Groups, group{n + 1, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), m})
		bar := figure.Series{Name: m.Name}
		if m.Test.N > 0 {
			tested = true
			bar.X, bar.Y, bar.Error = []float64{float64(n)}, []float64{m.Test.Mean}, []float64{m.Test.SD}
		}
		tests.Points, tests.Names = append(tests.Points, bar), append(tests.Names, fmt.Sprint(n+1))
	}
	var panels []figure.Panel
	if len(out.Groups) > 1 && tested {
		panels = append(panels, tests)
	}
	batches, seconds := func(q Point) float64 { return float64(q.Batch) }, func(q Point) float64 { return q.Seconds }
	valid, loss := func(q Point) float64 { return float64(q.Valid) }, func(q Point) float64 { return float64(q.Loss) }
	for _, c := range []struct {
		title, x, y string
		over, of    func(Point) float64
	}{
		{"Validation " + out.Metric + out.Note, "batches", out.Metric, batches, valid},
		{"Validation " + out.Metric + out.Note, "seconds", out.Metric, seconds, valid},
		{"Training loss", "batches", "loss", batches, loss},
		{"Training loss", "seconds", "loss", seconds, loss},
	} {
		panel := figure.Panel{Title: c.title + " over " + c.x, X: c.x, Y: c.y}
		for _, g := range out.Groups {
			panel.Lines = append(panel.Lines, groupLines(g.Name, g.curves, c.over, c.of)...)
		}
		panels = append(panels, panel)
	}
	for _, panel := range panels {
		out.Charts = append(out.Charts, inline(&figure.Figure{Panels: []figure.Panel{panel}, NoLegend: true}))
	}
	for k := range s.runs {
		r := row{Run: &s.runs[k], Group: s.of[k] + 1}
		if stand := s.standIn[k]; stand >= 0 {
			r.Same = s.runs[stand].Name
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

// groupLines returns the lines of the runs of one group. A single run is one line. Of
// several runs there is one line of means with a band of one standard deviation, up to the
// last batch at which all of them have a value. Behind it, a thin line continues each run
// that is longer.
//
// The x of a mean is the mean of the runs' x at that batch.
func groupLines(name string, runs [][]Point, x, y func(Point) float64) []figure.Series {
	mean, last := figure.Series{}, -1
	if len(runs) > 1 {
		mean, last = study.MeanCurve(name, runs, func(q Point) (int, float64, float64) { return q.Batch, x(q), y(q) }, func(s study.Spread) float64 { return s.SD })
		mean.Band = true
	}
	var lines []figure.Series
	for _, points := range runs {
		l := figure.Series{Name: name, Thin: last >= 0}
		for _, q := range points {
			if q.Batch >= last {
				l.X, l.Y = append(l.X, x(q)), append(l.Y, y(q))
			}
		}
		if last < 0 || len(l.X) > 1 {
			lines = append(lines, l)
		}
	}
	if last >= 0 {
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

// ofSamples says in a title that runs scored samples of the nodes, or returns "".
func (s *set) ofSamples() string {
	sampled := slices.ContainsFunc(s.runs, func(r Run) bool { return r.sampled() })
	switch {
	case !sampled:
		return ""
	case slices.ContainsFunc(s.runs, func(r Run) bool { return !r.sampled() }):
		return ", of some runs estimated from a sample"
	}
	return ", estimated from a sample"
}

// metric returns the runs' metric, or "score" if they differ.
func (s *set) metric() string {
	metric := s.runs[0].text("metric")
	if slices.ContainsFunc(s.runs, func(r Run) bool { return r.text("metric") != metric }) {
		return "score"
	}
	return cmp.Or(metric, "score")
}

// row is a run in the table of runs.
type row struct {
	*Run
	Group int    // its number
	Same  string // the run that counts in its place, or ""
}

// Shown writes a result or a setting for the table of runs.
func (r *Run) Shown(field string) string {
	text := r.text(field)
	if v := r.number(field); finite.Is(v) && v != math.Trunc(v) {
		text = study.Text(v)
	}
	switch {
	case text != "":
		return text + r.estimated(field)
	case field == "stop" && !r.done:
		return "not done"
	}
	return "–"
}

// estimated says that a score is of a sample of the nodes, or returns "".
func (r *Run) estimated(field string) string {
	sample := map[string]string{"test": "test_sample", "best_valid": "valid_sample"}[field]
	if sample == "" || !r.sampled() || r.done && r.text(sample) == "" {
		return ""
	}
	if !r.done {
		return fmt.Sprintf(" (sample of %s nodes)", r.text("eval_samples"))
	}
	return fmt.Sprintf(" ± %.2g (sample of %s nodes)", r.number(field+"_se"), r.text(sample))
}
