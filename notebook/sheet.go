package notebook

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"reflect"
	"strings"
	"text/tabwriter"

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
		v := reflect.ValueOf(cell)
		_, spread := cell.(study.Spread)
		switch {
		case cell == nil:
		case v.CanFloat():
			row[k] = study.Text(v.Float())
		default:
			row[k] = fmt.Sprint(cell)
			s.text[k] = s.text[k] || !spread && !v.CanInt() && !v.CanUint()
		}
	}
	s.rows = append(s.rows, row)
	return s
}

//go:embed sheet.html
var sheetText string

// HTML returns the table as an HTML element without colours, so that it follows the
// page's light or dark theme.
func (s *Sheet) HTML() string {
	align := func(column int) string {
		if s.text[column] || len(s.rows) == 0 {
			return "left"
		}
		return "right"
	}
	funcs := template.FuncMap{"align": align, "headed": s.headed,
		"rows": func() [][]string { return s.rows }}
	var b bytes.Buffer
	_ = template.Must(template.New("sheet").Funcs(funcs).Parse(sheetText)).Execute(&b, s) // into memory, which cannot fail
	return string(markup.Clean(b.Bytes()))
}

func (s *Sheet) headed() bool { return strings.Join(s.Header, "") != "" }

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
