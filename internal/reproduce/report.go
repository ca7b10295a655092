package reproduce

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Row is one number of a table, ours beside the paper's.
type Row struct {
	Dataset  string `json:"dataset"` // SPEC
	Label    string `json:"label"`   // as the paper names the method
	Method   string `json:"method"`
	Samples  []int  `json:"samples,omitempty"`
	Quantity string `json:"quantity"` // the measured quantity, with its unit

	N    int     `json:"n"` // number of runs, or of batches for times
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"` // unbiased; 0 for one run
	SEM  float64 `json:"sem"` // Std/√N

	// Median, for times: the least disturbed by other work on the machine.
	Median float64 `json:"median,omitempty"`

	Paper *PaperValue `json:"paper,omitempty"` // nil if the paper has none
	Range string      `json:"range,omitempty"` // "in", "above" or "below" the paper's
	Why   string      `json:"why,omitempty"`   // reason for a value out of range
}

// Report is the outcome of an experiment.
type Report struct {
	Experiment string          `json:"experiment"`
	Rows       []Row           `json:"rows"`
	Claims     []Claim         `json:"claims,omitempty"`
	Notes      []string        `json:"notes,omitempty"`
	Settings   map[string]any  `json:"settings"`
	Machine    machine.Machine `json:"machine"`
	Source     string          `json:"source"` // of the paper's numbers

	figure *figure.Figure
	curves []study.Table // further tables to be saved, by name
	names  []string
}

// Claim is a statement of the paper without a number, and whether it holds here.
type Claim struct {
	Dataset string `json:"dataset"`
	Text    string `json:"text"`
	Holds   bool   `json:"holds"`
	Numbers string `json:"numbers"` // the numbers behind the claim
}

var _ study.Table = (*Report)(nil)

// Header implements study.Table.
func (r *Report) Header() []string {
	return []string{"dataset", "label", "method", "samples", "quantity", "n", "mean", "std", "sem", "median", "paper", "paper_pm", "range", "why"}
}

// Records implements study.Table.
func (r *Report) Records() [][]string {
	var records [][]string
	for _, row := range r.Rows {
		mean, pm, median := "", "", ""
		if row.Median > 0 {
			median = finite.Text(row.Median)
		}
		if p := row.Paper; p != nil && p.LessThan > 0 {
			mean = "<" + finite.Text(p.LessThan)
		} else if p != nil {
			mean, pm = finite.Text(p.Mean), finite.Text(p.PM)
		}
		records = append(records, []string{row.Dataset, row.Label, row.Method, sizesText(row.Samples), row.Quantity,
			strconv.Itoa(row.N), finite.Text(row.Mean), finite.Text(row.Std), finite.Text(row.SEM), median, mean, pm, row.Range, row.Why})
	}
	return records
}

// Figure implements study.Table.
func (r *Report) Figure() *figure.Figure { return r.figure }

// Save writes the report to dir: NAME.csv, .json, .md, and .svg and .png if there
// is a figure.
func (r *Report) Save(dir string) error {
	if err := study.Save(dir, r.Experiment, r); err != nil {
		return err
	}
	for k, t := range r.curves {
		if err := study.Save(dir, r.names[k], t); err != nil {
			return err
		}
	}
	return saveText(dir, r.Experiment+".md", r.WriteMarkdown)
}

// WriteText writes the rows as an aligned table, one a line, for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(r.headings(), "\t"))
	for _, row := range r.Rows {
		fmt.Fprintln(t, strings.Join(r.cellsOf(&row), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeRest(w, "")
}

// WriteMarkdown writes the rows as a Markdown table.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	headings := r.headings()
	fmt.Fprintf(&b, "| %s |\n|---|---|---|%s---|\n", strings.Join(headings, " | "), strings.Repeat("--:|", len(headings)-4))
	for _, row := range r.Rows {
		cells := r.cellsOf(&row)
		for k := range cells {
			cells[k] = strings.ReplaceAll(cells[k], "|", `\|`) // ‖HW‖ is written |HW|
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	b.WriteString("\n")
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	return r.writeRest(w, "- ")
}

// headings are the columns of the text and Markdown tables.
func (r *Report) headings() []string {
	columns := []string{"data", "method", "quantity", "ours", "± std", "sem"}
	if r.timed() {
		columns = append(columns, "median")
	}
	return append(columns, "n", "paper", "range")
}

func (r *Report) timed() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Median > 0 })
}

// cellsOf returns the cells of a row, in the order of the headings.
func (r *Report) cellsOf(row *Row) []string {
	cells := []string{row.Dataset, row.labelled(), row.Quantity, short(row.Mean), spread(row.Std, row.N), spread(row.SEM, row.N)}
	if r.timed() {
		cells = append(cells, short(row.Median))
	}
	return append(cells, strconv.Itoa(row.N), row.Paper.text(), row.verdict())
}

// writeRest writes claims, reasons, notes and machine, a line each.
func (r *Report) writeRest(w io.Writer, bullet string) error {
	var b strings.Builder
	for _, c := range r.Claims {
		seen := "seen"
		if !c.Holds {
			seen = "NOT seen"
		}
		fmt.Fprintf(&b, "%s%s: %s: %s (%s)\n", bullet, c.Dataset, c.Text, seen, c.Numbers)
	}
	for _, note := range append(r.reasons(), r.Notes...) {
		fmt.Fprintf(&b, "%s%s\n", bullet, note)
	}
	fmt.Fprintf(&b, "%smachine: %s\n", bullet, r.Machine)
	_, err := io.WriteString(w, b.String())
	return err
}

// reasons lists each reason for rows out of the paper's range, with the number of
// these rows.
func (r *Report) reasons() []string {
	count := map[string]int{}
	var order []string
	out, compared := 0, 0
	for _, row := range r.Rows {
		if row.Range == "" {
			continue
		}
		compared++
		if row.Range == "in" {
			continue
		}
		out++
		if count[row.Why] == 0 {
			order = append(order, row.Why)
		}
		count[row.Why]++
	}
	if compared == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("%d of %d numbers are within the paper's range: its mean ± twice the standard error of the difference, with the paper's ± as a standard error", compared-out, compared)}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("%d out of range: %s", count[why], why))
	}
	return lines
}

func (row *Row) labelled() string {
	if row.Label == "" {
		return strings.TrimSpace(row.Method + " " + sizesText(row.Samples))
	}
	return row.Label
}

func (row *Row) verdict() string {
	switch row.Range {
	case "above", "below":
		return "**" + row.Range + "**"
	}
	return row.Range
}

// text is the value as a table shows it; nil is "–".
func (p *PaperValue) text() string {
	switch {
	case p == nil:
		return "–"
	case p.LessThan > 0:
		return "< " + short(p.LessThan)
	case p.PM == 0:
		return short(p.Mean)
	}
	return short(p.Mean) + " ± " + short(p.PM)
}

// short writes a number from 100 on with one decimal, from 1 on with two, and a
// smaller one with three significant digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func spread(v float64, n int) string {
	if n < 2 {
		return "–"
	}
	return short(v)
}

func sizesText(sizes []int) string {
	words := make([]string, len(sizes))
	for k, s := range sizes {
		words[k] = strconv.Itoa(s)
	}
	return strings.Join(words, ",")
}
