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

	// Runs is the number of training runs behind the row, and Of the number wanted; 0 if
	// no runs are.
	Runs int `json:"runs,omitempty"`
	Of   int `json:"of,omitempty"`

	// Median, for times: the least disturbed by other work on the machine.
	Median float64 `json:"median,omitempty"`

	Paper *PaperValue `json:"paper,omitempty"` // nil if the paper has none
	Range string      `json:"range,omitempty"` // "in", "above" or "below" the paper's
	Why   string      `json:"why,omitempty"`   // reason for a value out of range

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
	return saveText(dir, r.Experiment+".md", func(w io.Writer) error { return r.WriteMarkdown(w, "") })
}

// saveTables writes all files but the Markdown.
func (r *Report) saveTables(dir string) error {
	if err := study.Save(dir, r.Experiment, r); err != nil {
		return err
	}
	for _, m := range r.more {
		if err := study.Save(dir, m.name, m.table); err != nil {
			return err
		}
	}
	return nil
}

// WriteText writes the rows as an aligned table, one a line, for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s. %s\n\n", r.heading(), r.Title); err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(r.headings(), "\t"))
	for _, row := range r.Rows {
		fmt.Fprintln(t, strings.Join(r.cellsOf(&row), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var b strings.Builder
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
	if number, ok := strings.CutPrefix(r.Experiment, "table"); ok {
		return "Table " + number
	}
	if number, ok := strings.CutPrefix(r.Experiment, "figure"); ok {
		return "Figure " + number
	}
	return strings.ToUpper(r.Experiment[:1]) + r.Experiment[1:]
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
	several := map[string]map[string]bool{} // quantities of a data set
	for _, row := range r.Rows {
		if several[row.Dataset] == nil {
			several[row.Dataset] = map[string]bool{}
		}
		several[row.Dataset][row.Quantity] = true
	}
	place := func(row *Row) (line, column string) {
		line, column = row.line, row.column
		if line == "" {
			line = row.labelled()
		}
		if column == "" {
			column = columnName(row.Dataset)
			if len(several[row.Dataset]) > 1 {
				column += ", " + row.Quantity
			}
		}
		return line, column
	}
	for _, row := range r.Rows {
		line, column := place(&row)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		if strings.HasPrefix(row.Quantity, "test ") {
			if b, there := best[column]; !there || row.Mean > b {
				best[column] = row.Mean
			}
		}
	}
	for _, row := range r.Rows {
		line, column := place(&row)
		text := row.ours()
		if b, there := best[column]; there && row.Mean == b {
			text = "**" + text + "**"
		}
		if row.Runs < row.Of {
			text += fmt.Sprintf(" [n=%d]", row.Runs)
		}
		switch {
		case row.Paper != nil && row.Quantity == quantityCount:
			text += " (" + count(row.Paper.Mean) + ")"
		case row.Paper != nil:
			text += " (" + row.Paper.text() + ")"
		}
		cells[[2]string{line, column}] = text
	}
	return lines, columns, cells
}

// quantityCount marks rows of counts, which are written without needless decimals.
const quantityCount = "count"

// ours is the row's number with its spread. A time is a median.
func (row *Row) ours() string {
	if row.Quantity == quantityCount {
		return count(row.Mean)
	}
	if row.N == 0 {
		return "–"
	}
	value, spread := row.Mean, row.Std
	if row.Median > 0 {
		value = row.Median
	}
	if row.bySEM || spread == 0 {
		spread = row.SEM
	}
	if spread == 0 || row.Median > 0 {
		return short(value)
	}
	return short(value) + " ± " + short(spread)
}

// headings are the columns of the text table.
func (r *Report) headings() []string {
	columns := []string{"data", "method", "quantity", "ours", "± std", "sem"}
	if r.timed() {
		columns = append(columns, "mean")
	}
	columns = append(columns, "n", "paper")
	if r.ranged() {
		columns = append(columns, "range")
	}
	return columns
}

// ranged reports whether a row is compared with the paper's range.
func (r *Report) ranged() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Range != "" })
}

func (r *Report) timed() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Median > 0 })
}

// cellsOf returns the cells of a row, in the order of the headings.
func (r *Report) cellsOf(row *Row) []string {
	ours, mean := short(row.Mean), short(row.Mean)
	if row.Median > 0 {
		ours = short(row.Median)
	}
	if row.N == 0 {
		ours, mean = "–", "–"
	}
	cells := []string{row.Dataset, row.labelled(), row.Quantity, ours, spread(row.Std, row.N), spread(row.SEM, row.N)}
	if r.timed() {
		cells = append(cells, mean)
	}
	cells = append(cells, strconv.Itoa(row.N), row.Paper.text())
	if r.ranged() {
		cells = append(cells, row.Range)
	}
	return cells
}

// remarks lists the lines below the table: reasons, notes and claims.
func (r *Report) remarks() []string {
	lines := append(r.reasons(), r.Notes...)
	for _, c := range r.Claims {
		lines = append(lines, c.String())
	}
	return lines
}

// reasons lists each reason for rows out of the paper's range, with the number of
// these rows.
func (r *Report) reasons() []string {
	count := map[string]int{}
	var order []string
	out, compared, printed := 0, 0, 0
	for _, row := range r.Rows {
		if row.Range == "" {
			continue
		}
		compared++
		if row.Quantity == quantityCount {
			printed++
		}
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
	in, others := "are within the paper's range: its mean ± twice the standard error of the difference, with the paper's ± as a standard error", "out of range"
	if printed == compared {
		in, others = "equal the paper's to the last digit that it prints", "different"
	}
	lines := []string{fmt.Sprintf("%d of %d numbers %s", compared-out, compared, in)}
	for _, why := range order {
		lines = append(lines, fmt.Sprintf("%d %s: %s", count[why], others, why))
	}
	return lines
}

func (row *Row) labelled() string {
	if row.Label == "" {
		return strings.TrimSpace(row.Method + " " + sizesText(row.Samples))
	}
	return row.Label
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

func spread(v float64, n int) string {
	if n < 2 && v == 0 {
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
