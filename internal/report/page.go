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
	t, err := template.New("page").Funcs(template.FuncMap{"spread": spreadText, "ratio": ratioText, "text": study.Text}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p.view()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := w.Write(markup.Clean(text.Bytes())); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// view is the data of the template.
type view struct {
	*Page
	Sections []section // one a data set
	Means    bool      // some curves are means over runs
	Head     []string  // headings of the table of runs
	Rows     [][]cell
	Settings map[string]string // shared by all runs
	Differ   []string          // names of the settings that differ
}

// section holds the scores and curves on one data set.
type section struct {
	Data   string
	Metric string
	Note   string // about the scores
	Groups []group
	Charts []template.HTML
}

// group is a row of the table of scores.
type group struct {
	Number int
	Colour string
	Label  string // the name without the data set
	Method
}

type cell struct {
	Text    string
	Numeric bool
}

func (p *Page) view() view {
	v := view{Page: p}
	_, of := groups(p.Runs)
	methods := Compare(p.Runs)
	var all []string // data sets
	for _, m := range methods {
		v.Means = v.Means || m.Runs > 1
		if !slices.Contains(all, m.data) {
			all = append(all, m.data)
		}
	}
	for _, data := range all {
		v.Sections = append(v.Sections, p.section(data, methods))
	}
	v.Head, v.Rows = p.table(repeats(p.Runs, of))
	v.Settings, v.Differ = p.settings()
	return v
}

// section makes the table of scores of the methods on one data set, and their charts: test
// scores, and loss and validation score over batches and over seconds.
func (p *Page) section(data string, methods []Method) section {
	on := Page{Runs: slices.DeleteFunc(slices.Clone(p.Runs), func(r Run) bool { return r.text("data") != data })}
	s := section{Data: data, Metric: on.metric(), Note: on.ofSamples()}
	tests, tested := figure.Panel{Title: "Test " + s.Metric + s.Note, X: "number in the table", Y: s.Metric}, false
	for _, m := range methods {
		if m.data != data {
			continue
		}
		n := len(s.Groups)
		c := figure.Color(n)
		s.Groups = append(s.Groups, group{n + 1, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B), strings.TrimPrefix(m.Name, data+" · "), m})
		bar := figure.Series{Name: m.Name}
		if m.Test.N > 0 {
			tested = true
			bar.X, bar.Y, bar.Error = []float64{float64(n)}, []float64{m.Test.Mean}, []float64{m.Test.SD}
		}
		tests.Points, tests.Names = append(tests.Points, bar), append(tests.Names, fmt.Sprint(n+1))
	}
	var panels []figure.Panel
	if len(s.Groups) > 1 && tested {
		panels = append(panels, tests)
	}
	valid, loss := func(q Point) float64 { return float64(q.Valid) }, func(q Point) float64 { return float64(q.Loss) }
	batches, seconds := func(q Point) float64 { return float64(q.Batch) }, func(q Point) float64 { return q.Seconds }
	for _, c := range []struct {
		title, x, y string
		of, over    func(Point) float64
	}{
		{"Validation " + s.Metric + s.Note, "batches", s.Metric, valid, batches},
		{"Validation " + s.Metric + s.Note, "seconds", s.Metric, valid, seconds},
		{"Training loss", "batches", "loss", loss, batches},
		{"Training loss", "seconds", "loss", loss, seconds},
	} {
		panel := figure.Panel{Title: c.title + " over " + c.x, X: c.x, Y: c.y}
		for _, g := range s.Groups {
			panel.Lines = append(panel.Lines, groupLines(g.Name, g.curves, c.over, c.of)...)
		}
		panels = append(panels, panel)
	}
	for _, panel := range panels {
		s.Charts = append(s.Charts, inline(&figure.Figure{Panels: []figure.Panel{panel}, NoLegend: true}))
	}
	return s
}

// spreadText writes a mean ± the standard deviation over runs.
func spreadText(s study.Spread) string {
	switch {
	case s.N == 0:
		return "–"
	case s.N == 1 || !drawable(s.SD):
		return study.Text(s.Mean)
	}
	return fmt.Sprintf("%s ± %.2g", study.Text(s.Mean), s.SD)
}

// ratioText writes a ratio with four decimals.
func ratioText(x study.Number) string {
	if math.IsNaN(float64(x)) {
		return "–"
	}
	return fmt.Sprintf("%.4f", x)
}

// inline returns a figure as an element of the page, or the reason why it cannot be drawn.
func inline(f *figure.Figure) template.HTML {
	text, err := f.Element(`role="img" aria-label="` + html.EscapeString(f.Panels[0].Title) + `"`)
	if err != nil {
		return template.HTML(html.EscapeString(err.Error()))
	}
	return template.HTML(text) // every text in it is escaped
}

// drawable reports whether a chart can show all the values.
func drawable(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !(math.Abs(v) <= 1e290) })
}

// ofSamples says in a title that runs scored samples of the nodes, or returns "".
func (p *Page) ofSamples() string {
	switch sampled := func(r Run) bool { return r.sampled() }; {
	case !slices.ContainsFunc(p.Runs, sampled):
		return ""
	case slices.ContainsFunc(p.Runs, func(r Run) bool { return !r.sampled() }):
		return ", of some runs estimated from a sample"
	}
	return ", estimated from a sample"
}

// metric returns the runs' metric, or "score" if they differ.
func (p *Page) metric() string {
	metric := p.Runs[0].text("metric")
	if slices.ContainsFunc(p.Runs, func(r Run) bool { return r.text("metric") != metric }) {
		return "score"
	}
	return cmp.Or(metric, "score")
}

// table is the table of runs.
func (p *Page) table(standIn []int) (head []string, rows [][]cell) {
	columns := []struct {
		title, field string
		score        bool
	}{
		{"data", "data", false}, {"method", "method", false}, {"samples", "samples", false}, {"seed", "seed", false},
		{"test", "test", true}, {"best valid", "best_valid", true}, {"batches", "batches", false}, {"stopped by", "stop", false},
		{"ms a step", "train_ms_per_batch", true}, {"ms to sample", "sampling_ms_per_batch", true}, {"seconds", "wall_s", true},
		{"peak MB", "peak_rss_mb", true}, {"BLAS", "blas", false}, {"device", "device", false},
	}
	if !slices.Contains(differingSettings(p.Runs), "data") {
		columns = columns[1:] // a heading
	}
	head = append(head, "run")
	for _, c := range columns {
		head = append(head, c.title)
	}
	for k := range p.Runs {
		run := &p.Runs[k]
		row := []cell{{Text: run.Name}}
		if standIn[k] >= 0 {
			row[0].Text += " (the same run as " + p.Runs[standIn[k]].Name + ")"
		}
		for _, c := range columns {
			text := run.text(c.field)
			if v := run.number(c.field); c.score && !math.IsNaN(v) {
				text = study.Text(v)
			}
			switch {
			case text != "":
				text += run.estimated(c.field)
			case c.field == "stop" && run.Result == nil:
				text = "not done"
			default:
				text = "–"
			}
			row = append(row, cell{text, c.score || c.field == "seed" || c.field == "batches"})
		}
		rows = append(rows, row)
	}
	return head, rows
}

// estimated says that a score is of a sample of the nodes, or returns "".
func (r *Run) estimated(field string) string {
	sample := map[string]string{"test": "test_sample", "best_valid": "valid_sample"}[field]
	if sample == "" || !r.sampled() || r.Result != nil && r.text(sample) == "" {
		return ""
	}
	if r.Result == nil {
		return fmt.Sprintf(" (sample of %s nodes)", r.text("eval_samples"))
	}
	return fmt.Sprintf(" ± %.2g (sample of %s nodes)", r.number(field+"_se"), r.text(sample))
}

// settings returns the settings that all runs share, and the names of the others.
func (p *Page) settings() (shared map[string]string, differing []string) {
	shared, differing = map[string]string{}, differingSettings(p.Runs)
	for _, run := range p.Runs {
		for name, value := range run.Config {
			if !slices.Contains(differing, name) {
				shared[name] = valueText(value)
			}
		}
	}
	return shared, differing
}
