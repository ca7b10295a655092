package reproduce

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
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
	Range string      `json:"range,omitempty"` // "in", "above" or "below" the paper's
	Why   string      `json:"why,omitempty"`   // reason for a value out of range

	is           is
	line, column string // in the paper's layout; "" means label and data set
	bySEM        bool   // the table shows SEM, not Std
	pending      bool   // no number: cells of the data set are missing
}

// Report is one table or figure.
type Report struct {
	Experiment string          `json:"experiment"`
	Title      string          `json:"title"`
	Caption    string          `json:"caption"` // data, runs, scores and settings behind the numbers
	Rows       []Row           `json:"rows"`
	Claims     []Claim         `json:"claims,omitempty"` // that these rows decide alone
	Notes      []string        `json:"notes,omitempty"`
	Settings   map[string]any  `json:"settings"`
	Machine    machine.Machine `json:"machine"`
	Source     string          `json:"source"` // of the numbers beside ours
	Made       []string        `json:"made"`   // days, machines and programs of the cells

	figure     *figure.Figure
	figureOnly bool    // Markdown leaves out the rows: a table has them
	more       []named // further tables to be saved

	missing    []string // SPECs with missing cells
	unfinished []string // SPECs with missing cells that are not times
}

// named is a table and its file name without extension.
type named struct {
	name  string
	table study.Table
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
	if err := r.saveTables(dir); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, r.Experiment+".md"), func(w io.Writer) error { return r.WriteMarkdown(w, "") })
}

// saveTables writes all files but the Markdown.
func (r *Report) saveTables(dir string) error {
	for _, m := range append([]named{{r.Experiment, r}}, r.more...) {
		if err := study.Save(dir, m.name, m.table); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes the rows as an aligned table, one a line, for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. %s\n\n", r.heading(), r.Title)
	timed := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Median > 0 })
	ranged := slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Range != "" })
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(words ...string) {
		if !ranged {
			words = slices.Delete(words, 9, 10)
		}
		if !timed {
			words = slices.Delete(words, 6, 7)
		}
		fmt.Fprintln(t, strings.Join(words, "\t"))
	}
	line("data", "method", "quantity", "ours", "± std", "sem", "mean", "n", "paper", "range")
	for _, row := range r.Rows {
		ours, mean := short(row.Mean), short(row.Mean)
		if row.Median > 0 {
			ours = short(row.Median)
		}
		if row.N == 0 {
			ours, mean = "–", "–"
		}
		spread := func(v float64) string {
			if row.N < 2 && v == 0 {
				return "–"
			}
			return short(v)
		}
		line(row.Dataset, row.labelled(), row.Quantity, ours, spread(row.Std), spread(row.SEM), mean, strconv.Itoa(row.N), row.Paper.text(), row.Range)
	}
	t.Flush()
	for _, line := range append([]string{"", r.Caption}, r.remarks()...) {
		fmt.Fprintln(&b, strings.ReplaceAll(line, "**", "")) // without Markdown
	}
	for _, made := range r.Made {
		fmt.Fprintf(&b, "made: %s\n", made)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// heading is the experiment as the paper writes it: Table 4. An experiment that the paper
// lacks has its name.
func (r *Report) heading() string {
	name := strings.ToUpper(r.Experiment[:1]) + r.Experiment[1:]
	if at := strings.IndexAny(name, "123456789"); at > 0 {
		return name[:at] + " " + name[at:]
	}
	return name
}

// WriteMarkdown writes a section: the caption, a table in the paper's layout, one line
// a method and one column a data set, and a link to the figure. figures is the folder of
// the figure with a slash, or "".
func (r *Report) WriteMarkdown(w io.Writer, figures string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s. %s\n\n%s\n", r.heading(), r.Title, r.Caption)
	lines, columns, cells := r.pivot()
	if len(lines) > 0 && !r.figureOnly {
		b.WriteString("\n|")
		for _, c := range append([]string{""}, columns...) {
			fmt.Fprintf(&b, " %s |", escaped(c))
		}
		fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--:|", len(columns)))
		for _, line := range lines {
			fmt.Fprintf(&b, "| %s |", escaped(line))
			for _, c := range columns {
				fmt.Fprintf(&b, " %s |", escaped(cells[[2]string{line, c}]))
			}
			b.WriteString("\n")
		}
	}
	if r.figure != nil {
		fmt.Fprintf(&b, "\n![%s](%s%s.svg)\n", r.Title, figures, r.Experiment)
	}
	for k, remark := range r.remarks() {
		if k == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", remark)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// escaped is text for a cell of a Markdown table: ‖HW‖ is written |HW|.
func escaped(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// pivot returns the names of the lines and columns of the table in the paper's
// layout, in the order of the rows, and its cells: our number, and the paper's in
// brackets. The best metrics of a column are bold.
func (r *Report) pivot() (lines, columns []string, cells map[[2]string]string) {
	cells = map[[2]string]string{}
	best := map[string]float64{}
	places := make([][2]string, len(r.Rows))
	for k, row := range r.Rows {
		line, column := row.line, row.column
		if line == "" {
			line = row.labelled()
		}
		if column == "" {
			column = columnName(row.Dataset)
			if slices.ContainsFunc(r.Rows, func(other Row) bool { return other.Dataset == row.Dataset && other.Quantity != row.Quantity }) {
				column += ", " + row.Quantity
			}
		}
		places[k] = [2]string{line, column}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		if b, there := best[column]; row.is.Of == score && (!there || row.Mean > b) {
			best[column] = row.Mean
		}
	}
	for k, row := range r.Rows {
		text := row.ours()
		if b, there := best[places[k][1]]; there && row.Mean == b {
			text = "**" + text + "**"
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
		cells[places[k]] = text
	}
	return lines, columns, cells
}

// ours is the row's number with its spread. A time is a median.
func (row *Row) ours() string {
	spread := row.Std
	if row.bySEM || spread == 0 {
		spread = row.SEM
	}
	switch {
	case row.is.Of == aCount:
		return count(row.Mean)
	case row.N == 0:
		return "–"
	case row.Median > 0:
		return short(row.Median)
	case spread == 0:
		return short(row.Mean)
	}
	return short(row.Mean) + " ± " + short(spread)
}

// remarks lists the lines below the table: reasons, notes and claims.
func (r *Report) remarks() []string {
	lines := append(r.reasons(), r.Notes...)
	for _, c := range r.Claims {
		text := fmt.Sprintf("%s: %s: %s", c.Where, c.Text, c.Verdict)
		if c.Numbers != "" {
			text += " (" + c.Numbers + ")"
		}
		lines = append(lines, text)
	}
	return lines
}

// reasons lists each reason for rows out of the paper's range, with the number of
// these rows.
func (r *Report) reasons() []string {
	out := map[string]int{}
	var order []string
	in, compared, printed := 0, 0, true
	for _, row := range r.Rows {
		if row.Range == "" {
			continue
		}
		compared++
		printed = printed && row.is.Of == aCount
		switch {
		case row.Range == "in":
			in++
			continue
		case out[row.Why] == 0:
			order = append(order, row.Why)
		}
		out[row.Why]++
	}
	if compared == 0 {
		return nil
	}
	within, others := "are within the paper's range: its mean ± twice the standard error of the difference, with the paper's ± as a standard error", "out of range"
	if printed {
		within, others = "equal the paper's to the last digit that it prints", "different"
	}
	lines := []string{fmt.Sprintf("%d of %d numbers %s", in, compared, within)}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("%d %s: %s", out[why], others, why))
	}
	return lines
}

func (row *Row) labelled() string {
	if row.Label == "" {
		return strings.TrimSpace(row.Method + " " + sizesText(row.Samples))
	}
	return row.Label
}

// paperRuns is the number of runs behind the paper's accuracies.
const paperRuns = 5

// compare compares the row with the paper's number. If the paper's ± is a standard
// error, as its program computes it, the difference of the means has standard error
// √(SEM² + PM²). The row is in range if the difference is within twice that. A mean
// that is not finite has no range.
func (row *Row) compare() {
	p := row.Paper
	switch {
	case p == nil || !finite.Is(row.Mean):
	case p.LessThan > 0:
		row.Range = "in"
		if row.Mean >= p.LessThan+2*row.SEM {
			row.Range = "above"
		}
	default:
		row.compareWithin(2 * math.Hypot(row.SEM, p.PM))
	}
}

// add adds a row, compared with the paper's number. timedBy names the program behind the
// paper's times, "" if the row is not a time. The result is valid until the next row.
func (r *Report) add(timedBy string, row Row) *Row {
	row.compare()
	row.explain(timedBy)
	r.Rows = append(r.Rows, row)
	return &r.Rows[len(r.Rows)-1]
}

// compareWithin sets the range of a row that may differ by tolerance from the paper's number.
func (row *Row) compareWithin(tolerance float64) {
	switch p := row.Paper; {
	case row.Mean > p.Mean+tolerance:
		row.Range = "above"
	case row.Mean < p.Mean-tolerance:
		row.Range = "below"
	default:
		row.Range = "in"
	}
}

// comparePrinted compares the row with a count as the paper prints it: equal to its
// last digit.
func (row *Row) comparePrinted() {
	p := row.Paper
	if p == nil {
		return
	}
	half := 0.5
	if p.Mean != math.Trunc(p.Mean) {
		half = 0.05
	}
	row.compareWithin(half)
	if row.Range == "in" {
		return
	}
	name, _ := paperDataset(row.Dataset)
	switch {
	case row.Label == "Degree" && (name == "reddit" || name == "mag"):
		row.Why = "degree: for Reddit and ogbn-mag the paper prints the edges over the nodes, for the others twice as many"
	case name == "arxiv" && row.Label == "Nodes":
		row.Why = "nodes: ogbn-arxiv has 169,343; the paper prints 160,343"
	case name == "arxiv" && (row.Label == "Degree" && math.Abs(row.Mean-13.77) < 0.005 || row.Label == "Test nodes, %" && math.Abs(row.Mean-28.7) < 0.05):
		row.Why = "ogbn-arxiv has 13.77 neighbours a node and 28.7 % of test nodes; the paper prints 13.7 and 28"
	default:
		row.Why = "the data differ from the paper's"
	}
}

// The programs behind the paper's times.
const (
	paperSampling = "the paper: Python and SciPy on a CPU"
	paperTraining = "the paper: PyTorch on a V100"
)

// explain gives the likely reason why a row is out of range. timedBy names the
// program behind the paper's times, "" if the row is not a time.
func (row *Row) explain(timedBy string) {
	name, twin := paperDataset(row.Dataset)
	switch {
	case row.Range == "" || row.Range == "in":
		row.Why = ""
	case timedBy != "" && twin:
		row.Why = "other machine and program (" + timedBy + "), on a generated twin of the graph"
	case timedBy != "":
		row.Why = "other machine and program (" + timedBy + ")"
	case twin:
		row.Why = fmt.Sprintf("a generated twin of %s, not the real graph: only sizes and costs are comparable", name)
	case row.N < paperRuns:
		row.Why = fmt.Sprintf("%d runs; the paper has %d", row.N, paperRuns)
	default:
		row.Why = "not explained by settings, data or number of runs"
	}
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

// short writes a number from 100 on with one decimal or as an integer, from 1 on with
// two decimals, and a smaller one with three significant digits.
func short(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 100 && a == math.Trunc(a):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// count writes a count with one decimal at most.
func count(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }

func sizesText(sizes []int) string {
	words := make([]string, len(sizes))
	for k, s := range sizes {
		words[k] = strconv.Itoa(s)
	}
	return strings.Join(words, ",")
}
