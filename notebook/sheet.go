package notebook

import (
	"errors"
	"fmt"
	"html"
	"slices"
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

	rows [][]string
	text map[int]bool // columns with a cell that is no number
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
	s := NewSheet(title, columns...)
	for _, record := range t.Records() {
		cells := make([]any, len(columns))
		for k, name := range columns {
			j := slices.Index(header, name)
			if j < 0 || j >= len(record) {
				return nil, fmt.Errorf("notebook: no column %q in a record of %d fields; there are %s", name, len(record), strings.Join(header, ", "))
			}
			if v, err := strconv.ParseFloat(record[j], 64); err == nil {
				cells[k] = v
			} else if record[j] != "" { // an empty field is a number that is not finite
				cells[k] = record[j]
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
	row := make([]string, max(len(cells), len(s.Header)))
	if s.text == nil {
		s.text = map[int]bool{}
	}
	for k, cell := range cells {
		switch v := cell.(type) {
		case float64:
			row[k] = study.Text(v)
		case float32:
			row[k] = study.Text(float64(v))
		case study.Number:
			row[k] = study.Text(float64(v))
		case study.Spread, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
			row[k] = fmt.Sprint(v)
		case nil:
		default:
			row[k], s.text[k] = fmt.Sprint(v), true
		}
	}
	s.rows = append(s.rows, row)
	return s
}

// HTML returns the table as an HTML element without colours, so that it follows the
// page's light or dark theme.
func (s *Sheet) HTML() string {
	var b strings.Builder
	line := func(element string, cells []string) {
		b.WriteString("<tr>")
		for k, cell := range cells {
			align := "right"
			if s.text[k] || len(s.rows) == 0 {
				align = "left"
			}
			fmt.Fprintf(&b, `<%s style="text-align:%s">%s</%s>`, element, align, html.EscapeString(cell), element)
		}
		b.WriteString("</tr>")
	}
	b.WriteString("<table>")
	if s.Title != "" {
		fmt.Fprintf(&b, `<caption style="caption-side:top;text-align:left;font-weight:bold;color:inherit;white-space:nowrap">%s</caption>`, html.EscapeString(s.Title))
	}
	if strings.Join(s.Header, "") != "" {
		b.WriteString("<thead>")
		line("th", s.Header)
		b.WriteString("</thead>")
	}
	b.WriteString("<tbody>")
	for _, row := range s.rows {
		line("td", row)
	}
	b.WriteString("</tbody></table>")
	return string(markup.Clean([]byte(b.String())))
}

// String returns the table as aligned lines.
func (s *Sheet) String() string {
	var b strings.Builder
	if s.Title != "" {
		fmt.Fprintln(&b, s.Title)
	}
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if strings.Join(s.Header, "") != "" {
		fmt.Fprintln(w, strings.Join(s.Header, "\t"))
	}
	for _, row := range s.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush() // into a strings.Builder, which cannot fail
	return b.String()
}
