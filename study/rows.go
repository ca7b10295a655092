package study

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// column is a field of a row that holds one value. The tag json names it in JSON and CSV. The
// tag show has its heading on a terminal, and after | the format of its numbers; other columns
// are not shown there.
type column struct {
	at                  []int // index of the field
	name, title, format string
}

// columns lists the columns of rows of type R.
func columns[R any]() []column {
	var all []column
	for _, f := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		title, format, _ := strings.Cut(f.Tag.Get("show"), "|")
		if kind := f.Type.Kind(); name != "" && kind != reflect.Struct && kind != reflect.Slice {
			all = append(all, column{f.Index, name, title, format})
		}
	}
	return all
}

// header lists the names of the columns.
func header[R any]() []string {
	var names []string
	for _, c := range columns[R]() {
		names = append(names, c.name)
	}
	return names
}

// records writes the columns of each row as CSV has them.
func records[R any](rows []R) [][]string {
	var all [][]string
	for _, row := range rows {
		var record []string
		for _, c := range columns[R]() {
			v := reflect.ValueOf(row).FieldByIndex(c.at)
			text := fmt.Sprint(v)
			if v.CanFloat() {
				text = finite.Text(v.Float())
			}
			record = append(record, text)
		}
		all = append(all, record)
	}
	return all
}

// shown writes the columns of each row as a terminal has them, below their headings. A row
// whose type has a method cell can replace the text of a column.
func shown[R any](rows []R) (head []string, cells [][]string) {
	cells = make([][]string, len(rows))
	for _, c := range columns[R]() {
		if c.title == "" {
			continue
		}
		head = append(head, c.title)
		for k, row := range rows {
			v := reflect.ValueOf(row).FieldByIndex(c.at)
			text := fmt.Sprint(v)
			if v.CanFloat() {
				text = fmt.Sprintf(c.format, v.Float())
			}
			if special, ok := any(row).(interface {
				cell(name, text string) string
			}); ok {
				text = special.cell(c.name, text)
			}
			cells[k] = append(cells[k], text)
		}
	}
	return head, cells
}

// yesOrNo writes a verdict.
func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
