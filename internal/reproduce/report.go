package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// measure is the kind of a row's number.
type measure string

// The measures that have more than one reader. Others are written where their rows are made,
// and in claims.json.
const (
	score       measure = "test metric"
	aTime       measure = "time"
	aCount      measure = "count"
	anError     measure = "error"
	needed      measure = "mini-batches to 95 %"
	intercept   measure = "β0"
	slope       measure = "β1"
	r2          measure = "R²"
	leverage    measure = "high leverage, %"
	largestNorm measure = "largest ‖P^[i]‖ over the mean"
)

// is says which number a row has.
type is struct {
	Of    measure `json:"of"`
	Layer int     `json:"layer"` // from 1; 0: of no layer
	On    string  `json:"on"`    // of a regression: the norm
	Over  string  `json:"over"`  // and the nodes
}

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

	// Runs is the number of training runs behind the row, and Of the number wanted; 0 if
	// no runs are.
	Runs int `json:"runs,omitempty"`
	Of   int `json:"of,omitempty"`

	// Median, for times: the least disturbed by other work on the machine.
	Median float64 `json:"median,omitempty"`

	Paper *PaperValue `json:"paper,omitempty"` // nil if the paper has none
	Range string      `json:"range,omitempty"` // "in", "above" or "below" the paper's; of the original data

	is           is
	line, column string // in the paper's layout; "" means label and data set
}

// Report is one table or figure.
type Report struct {
	Experiment string   `json:"experiment"`
	Title      string   `json:"title"`
	Caption    string   `json:"caption"` // data, runs, scores and settings behind the numbers
	Rows       []Row    `json:"rows"`
	Claims     []Claim  `json:"claims,omitempty"` // that these rows decide alone
	Notes      []string `json:"notes,omitempty"`
	Source     string   `json:"source"` // of the numbers beside ours
	Made       []string `json:"made"`   // days, machines and programs of the cells

	Folder     string `json:"-"` // of the figure on the page, with a slash, or ""
	figure     *figure.Figure
	figureOnly bool     // Markdown leaves out the rows: a table has them
	data       []string // SPECs
}

// List implements study.Table.
func (r *Report) List() study.List {
	l := study.List{
		Header: []string{"dataset", "label", "method", "samples", "quantity", "n", "mean", "std", "sem", "median", "paper", "paper_pm", "range"},
		Below:  append([]string{"", r.Caption}, r.Remarks()...),
	}
	l.Titles, l.Shown = r.table("")
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
		l.Records = append(l.Records, []string{row.Dataset, row.Label, row.Method, run.Sizes(row.Samples).String(), row.Quantity,
			strconv.Itoa(row.N), finite.Text(row.Mean), finite.Text(row.Std), finite.Text(row.SEM), median, mean, pm, row.Range})
	}
	return l
}

// Figure implements study.Table.
func (r *Report) Figure() *figure.Figure { return r.figure }

// table returns the table in the paper's layout, one line a method and one column a data set. A
// cell has our number, and the paper's in brackets. The best metrics of a column are between
// marks.
func (r *Report) table(mark string) (head []string, lines [][]string) {
	head = []string{""}
	at, best := map[string]int{}, map[string]float64{}
	for _, row := range r.Rows {
		_, column := r.place(&row)
		if !slices.Contains(head, column) {
			head = append(head, column)
		}
		if b, there := best[column]; row.is.Of == score && (!there || row.Mean > b) {
			best[column] = row.Mean
		}
	}
	for _, row := range r.Rows {
		name, column := r.place(&row)
		if _, there := at[name]; !there {
			at[name] = len(lines)
			lines = append(lines, append([]string{name}, make([]string, len(head)-1)...))
		}
		text := row.ours()
		if b, there := best[column]; there && row.Mean == b {
			text = mark + text + mark
		}
		if row.Runs < row.Of {
			text += fmt.Sprintf(" [n=%d]", row.Runs)
		}
		switch {
		case row.Paper != nil && row.is.Of == aCount:
			text += " (" + count(row.Paper.Mean) + ")"
		case row.Paper != nil:
			text += " (" + row.Paper.text() + ")"
		}
		lines[at[name]][slices.Index(head, column)] = text
	}
	return head, lines
}

// place returns the names of the line and the column of a row in the paper's layout.
func (r *Report) place(row *Row) (line, column string) {
	line, column = cmp.Or(row.line, row.Label), row.column
	if column == "" {
		column = columnName(row.Dataset)
		if slices.ContainsFunc(r.Rows, func(other Row) bool { return other.Dataset == row.Dataset && other.Quantity != row.Quantity }) {
			column += ", " + row.Quantity
		}
	}
	return line, column
}

// save writes the report to dir: NAME.csv, .json, .md, and .svg and .png if there
// is a figure.
func (r *Report) save(dir string) error {
	if err := study.Save(dir, r.Experiment, r); err != nil {
		return err
	}
	return saveMarkdown(filepath.Join(dir, r.Experiment+".md"), "report", r)
}

// Heading is the experiment as the paper writes it, with its title: Table 4. Test metric.
func (r *Report) Heading() string {
	name := strings.ToUpper(r.Experiment[:1]) + r.Experiment[1:]
	at := strings.IndexAny(name, "123456789")
	return name[:at] + " " + name[at:] + ". " + r.Title
}

// ours is the row's number with its spread, of an error the standard error. A time is a median.
func (row *Row) ours() string {
	spread := row.Std
	if row.is.Of == anError || spread == 0 {
		spread = row.SEM
	}
	switch {
	case row.is.Of == aCount:
		return count(row.Mean)
	case row.N == 0:
		return "–"
	case row.Median > 0:
		return short(row.Median)
	}
	return plusMinus(row.Mean, spread)
}

// Remarks lists the lines below the table: how many numbers are in the paper's range, notes
// and claims.
func (r *Report) Remarks() []string {
	var lines []string
	ranges := map[string]int{}
	for _, row := range r.Rows {
		ranges[row.Range]++
	}
	if compared := len(r.Rows) - ranges[""]; compared > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d numbers agree with the paper's: counts to the last digit, others within twice the standard error of the difference, with the paper's ± as a standard error", ranges["in"], compared))
	}
	lines = append(lines, r.Notes...)
	for _, c := range r.Claims {
		if c.Verdict != NotMeasured {
			lines = append(lines, fmt.Sprintf("%s: %s: %s (%s)", c.Where, c.Text, c.Verdict, c.Numbers))
		}
	}
	return lines
}

// add adds a row, compared with the paper's number unless the data are a twin. The paper's ±
// counts as a standard error, as its program computes it: the difference of the means has
// standard error √(SEM² + PM²). The row is in range if the difference is within twice that. The
// result is valid until the next row.
func (r *Report) add(row Row) *Row {
	_, twin := paperDataset(row.Dataset)
	switch p := row.Paper; {
	case p == nil || !finite.Is(row.Mean) || twin:
	case p.LessThan > 0:
		row.Range = "in"
		if row.Mean >= p.LessThan+2*row.SEM {
			row.Range = "above"
		}
	default:
		row.compare(2 * math.Hypot(row.SEM, p.PM))
	}
	r.Rows = append(r.Rows, row)
	return &r.Rows[len(r.Rows)-1]
}

// compare sets the range of a row that may differ by tolerance from the paper's number.
func (row *Row) compare(tolerance float64) {
	switch p := row.Paper; {
	case row.Mean > p.Mean+tolerance:
		row.Range = "above"
	case row.Mean < p.Mean-tolerance:
		row.Range = "below"
	default:
		row.Range = "in"
	}
}

// text is the value as a table shows it.
func (p *PaperValue) text() string {
	if p.LessThan > 0 {
		return "< " + short(p.LessThan)
	}
	return plusMinus(p.Mean, p.PM)
}

// plusMinus writes a number with its spread, if that is not 0.
func plusMinus(v, spread float64) string {
	if spread == 0 {
		return short(v)
	}
	return short(v) + " ± " + short(spread)
}

// short writes a number from 100 on with one decimal or as an integer, from 1 on with
// two decimals, and a smaller one with three significant digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a == 0: // also −0
		return "0"
	case a >= 100 && a == math.Trunc(a):
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// count writes a count with one decimal at most.
func count(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }
