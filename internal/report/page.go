package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study"
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
	t, err := template.New("page").Parse(pageText)
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
	Title    string
	Groups   []group
	Charts   []template.HTML
	Means    bool // some curves are means over runs
	Compare  []template.HTML
	Evals    []evaluationView
	Head     []string // headings of the table of runs
	Rows     [][]cell
	Settings []setting // shared by all runs
	Differ   []string  // names of the settings that differ
	Differs  [][]string
	Machine  string
}

type group struct {
	Name    string
	Style   int
	Runs    int
	Repeats int // runs with the settings and the seed of another one, not in Runs
}

type cell struct {
	Text    string
	Numeric bool
}

// setting is a setting that all runs share.
type setting struct{ Name, Value string }

func (p *Page) view() view {
	v := view{Title: p.Title, Machine: p.Machine.String()}
	names, of := groups(p.Runs)
	standIn := repeats(p.Runs, of)
	groups := make([]group, len(names))
	for k, g := range of {
		if standIn[k] < 0 {
			groups[g].Runs++
		} else {
			groups[g].Repeats++
		}
	}
	for g, name := range names {
		groups[g].Name, groups[g].Style = name, g%styles
	}
	v.Groups = groups
	v.Means = slices.ContainsFunc(groups, func(g group) bool { return g.Runs > 1 })
	v.Charts = p.curves(names, of, standIn)
	v.Compare = p.comparison(names, of, standIn)
	v.Evals = p.evaluations(of)
	v.Head, v.Rows = p.table(standIn)
	v.Settings, v.Differ, v.Differs = p.settings()
	return v
}

// curves draws loss and validation score of each group over batches and over seconds. A run
// for which another stands in does not count.
func (p *Page) curves(names []string, of, standIn []int) []template.HTML {
	metric := p.metric()
	members := make([][]curveOf, len(names))
	for k, run := range p.Runs {
		if standIn[k] < 0 {
			members[of[k]] = append(members[of[k]], curveOf{run.Name, run.Points})
		}
	}
	var charts []template.HTML
	for _, c := range []struct {
		title, y string
		value    func(Point) float64
	}{
		{"Validation " + metric + p.ofSamples(), metric, func(q Point) float64 { return float64(q.Valid) }},
		{"Training loss", "loss", func(q Point) float64 { return float64(q.Loss) }},
	} {
		for _, x := range []struct {
			name  string
			value func(Point) float64
		}{
			{"batches", func(q Point) float64 { return float64(q.Batch) }},
			{"seconds", func(q Point) float64 { return q.Seconds }},
		} {
			drawing := chart{Title: c.title + " over " + x.name, X: x.name, Y: c.y}
			for g, runs := range members {
				drawing.Lines = append(drawing.Lines, groupLines(names[g], g, runs, x.value, c.value)...)
			}
			charts = append(charts, drawing.SVG())
		}
	}
	return charts
}

// ofSamples says in a title that runs scored samples of the nodes, or returns "".
func (p *Page) ofSamples() string {
	switch {
	case !slices.ContainsFunc(p.Runs, sampled):
		return ""
	case !slices.ContainsFunc(p.Runs, func(r Run) bool { return !sampled(r) }):
		return ", estimated from a sample"
	}
	return ", of some runs estimated from a sample"
}

// sampled reports whether a run's scores are of samples of the nodes.
func sampled(r Run) bool { return r.text("eval_samples") != "" }

// metric returns the runs' metric, or "score" if they differ.
func (p *Page) metric() string {
	metric := p.Runs[0].text("metric")
	for k := range p.Runs {
		if p.Runs[k].text("metric") != metric {
			return "score"
		}
	}
	if metric == "" {
		return "score"
	}
	return metric
}

// comparison draws the test metric, the best validation metric and the time a
// batch of each group that has them. A run for which another stands in does not count.
func (p *Page) comparison(names []string, of, standIn []int) []template.HTML {
	metric := p.metric()
	var charts []template.HTML
	for _, c := range []struct{ field, title, x string }{
		{"test", "Test " + metric + p.ofSamples() + ": mean and standard deviation over runs", metric},
		{"best_valid", "Best validation " + metric + p.ofSamples() + ": mean and standard deviation over runs", metric},
		{"train_ms_per_batch", "Training step, sampling left out", "ms a batch"},
	} {
		drawing := chart{Title: c.title, X: c.x}
		for g, values := range numbersOf(p.Runs, names, of, standIn, c.field) {
			if len(values) > 0 {
				s := study.NewSpread(values)
				drawing.Bars = append(drawing.Bars, bar{Name: names[g], Group: g, Values: values, Mean: s.Mean, SD: s.SD})
			}
		}
		if len(drawing.Bars) > 0 {
			charts = append(charts, drawing.SVG())
		}
	}
	return charts
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
			text, numeric := run.text(c.field), c.score || c.field == "seed" || c.field == "batches"
			v := run.number(c.field)
			if math.IsNaN(v) {
				if v = run.partialResult(c.field); !math.IsNaN(v) {
					text = fmt.Sprint(v)
				}
			}
			if c.score && !math.IsNaN(v) {
				text = fmt.Sprintf("%.4g", v)
			}
			if text != "" {
				text += run.estimated(c.field)
			}
			switch {
			case text == "" && c.field == "stop" && run.Result == nil:
				text = "not done"
			case text == "":
				text = "–"
			}
			row = append(row, cell{text, numeric})
		}
		rows = append(rows, row)
	}
	return head, rows
}

// estimated says that a score is of a sample of the nodes, or returns "".
func (r *Run) estimated(field string) string {
	sample := map[string]string{"test": "test_sample", "best_valid": "valid_sample"}[field]
	if sample == "" || r.text("eval_samples") == "" || r.Result != nil && r.text(sample) == "" {
		return ""
	}
	if r.Result == nil {
		return fmt.Sprintf(" (sample of %s nodes)", r.text("eval_samples"))
	}
	return fmt.Sprintf(" ± %.2g (sample of %s nodes)", r.number(field+"_se"), r.text(sample))
}

// settings returns the settings that all runs share. It also returns the names of
// the other settings, and for each run a row of its name and their values.
func (p *Page) settings() (shared []setting, names []string, rows [][]string) {
	names = differingSettings(p.Runs)
	if known := slices.IndexFunc(p.Runs, func(r Run) bool { return r.Config != nil }); known >= 0 {
		for name, value := range p.Runs[known].Config {
			if !slices.Contains(names, name) {
				shared = append(shared, setting{name, valueText(value)})
			}
		}
	}
	slices.SortFunc(shared, func(a, b setting) int { return strings.Compare(a.Name, b.Name) })
	for _, run := range p.Runs {
		row := []string{run.Name}
		for _, name := range names {
			text := "–"
			if v, there := run.Config[name]; there {
				text = valueText(v)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return shared, names, rows
}
