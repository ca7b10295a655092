package notebook

import (
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/markup"
	"github.com/gcn-layerwise/gcn/study"
)

// Sheet is a table in a cell's output: HTML in a notebook, aligned text on a
// terminal. Columns with only numbers are aligned right.
type Sheet struct {
	Title  string
	Header []string // names of the columns; no header if all are empty

	rows    [][]string
	numeric []bool // for each column: all its cells are numbers
}

// NewSheet returns a table without rows.
func NewSheet(title string, header ...string) *Sheet {
	return &Sheet{Title: title, Header: header}
}

// Tabulate returns a study's outcome as a table. columns selects columns by name, in
// that order; none means all. Numbers are rounded to four digits; study.Save writes
// them in full. The error about an unknown column lists the known ones.
func Tabulate(title string, t study.Table, columns ...string) (*Sheet, error) {
	if argument.Nil(t) {
		return nil, errors.New("notebook: there is no table")
	}
	header := t.Header()
	if len(columns) == 0 {
		columns = header
	}
	place := make([]int, len(columns))
	for k, name := range columns {
		place[k] = -1
		for j, have := range header {
			if have == name {
				place[k] = j
			}
		}
		if place[k] < 0 {
			return nil, fmt.Errorf("notebook: no column %q; there are %s", name, strings.Join(header, ", "))
		}
	}
	s := NewSheet(title, columns...)
	for n, record := range t.Records() {
		if len(record) < len(header) {
			return nil, fmt.Errorf("notebook: record %d has %d fields under %d headings", n, len(record), len(header))
		}
		cells := make([]any, len(place))
		for k, j := range place {
			cells[k] = record[j]
			if v, err := strconv.ParseFloat(record[j], 64); err == nil {
				cells[k] = v
			} else if record[j] == "" { // an empty field is a number that is not finite
				cells[k] = nil
			}
		}
		s.Add(cells...)
	}
	return s, nil
}

// Add adds a row and returns the sheet. Floating-point numbers are rounded to four
// digits. A study.Spread is written as mean ± standard error, the mean to as many
// digits as the error. All else is written as by fmt.Sprint. Missing cells are
// empty, and extra cells are kept.
func (s *Sheet) Add(cells ...any) *Sheet {
	row := make([]string, 0, len(s.Header))
	for k, cell := range cells {
		text, number := format(cell)
		for len(s.numeric) <= k {
			s.numeric = append(s.numeric, true)
		}
		s.numeric[k] = s.numeric[k] && number
		row = append(row, text)
	}
	for len(row) < len(s.Header) {
		row = append(row, "")
	}
	s.rows = append(s.rows, row)
	return s
}

// Rows returns the number of rows.
func (s *Sheet) Rows() int { return len(s.rows) }

// Cell returns the text of a cell, "" if there is no such cell.
func (s *Sheet) Cell(row, column int) string {
	if row < 0 || row >= len(s.rows) || column < 0 || column >= len(s.rows[row]) {
		return ""
	}
	return s.rows[row][column]
}

// HTML returns the table as an HTML element without colours, so that it follows the
// page's light or dark theme.
func (s *Sheet) HTML() string {
	var b strings.Builder
	b.WriteString("<table>")
	if s.Title != "" {
		fmt.Fprintf(&b, `<caption style="caption-side:top;text-align:left;font-weight:bold;color:inherit;white-space:nowrap">%s</caption>`, html.EscapeString(s.Title))
	}
	if s.headed() {
		b.WriteString("<thead>")
		s.line(&b, "th", s.Header)
		b.WriteString("</thead>")
	}
	b.WriteString("<tbody>")
	for _, row := range s.rows {
		s.line(&b, "td", row)
	}
	b.WriteString("</tbody></table>")
	return string(markup.Clean([]byte(b.String())))
}

// headed reports whether any column has a name.
func (s *Sheet) headed() bool { return strings.Join(s.Header, "") != "" }

func (s *Sheet) line(b *strings.Builder, element string, cells []string) {
	b.WriteString("<tr>")
	for k, cell := range cells {
		align := "left"
		if k < len(s.numeric) && s.numeric[k] {
			align = "right"
		}
		fmt.Fprintf(b, `<%s style="text-align:%s">%s</%s>`, element, align, html.EscapeString(cell), element)
	}
	b.WriteString("</tr>")
}

// String returns the table as aligned lines.
func (s *Sheet) String() string {
	var b strings.Builder
	if s.Title != "" {
		fmt.Fprintln(&b, s.Title)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if s.headed() {
		fmt.Fprintln(w, strings.Join(s.Header, "\t"))
	}
	for _, row := range s.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() // into a strings.Builder, which cannot fail
	return b.String()
}

// format returns the text of a cell, and reports whether it is a number.
func format(cell any) (text string, number bool) {
	switch v := cell.(type) {
	case float64:
		return study.Text(v), true
	case float32:
		return study.Text(float64(v)), true
	case study.Number:
		return study.Text(float64(v)), true
	case study.Spread:
		return v.String(), true
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v), true
	case nil:
		return "", true
	}
	return fmt.Sprint(cell), false
}
