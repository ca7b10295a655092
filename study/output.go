package study

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Number is a float64 that JSON shows as null if it is not finite. Null reads as NaN.
type Number = finite.Number

// Table is the outcome of a study, ready to be saved. The tables of this package
// implement it. JSON holds all their fields, CSV the rows.
type Table interface {
	Header() []string
	Records() [][]string
	Figure() *figure.Figure // nil if there is nothing to draw
}

// Save writes a table to dir as name.csv, name.json and, if the table has a figure,
// name.svg and name.png. It creates dir if necessary. NaN and infinite numbers are
// null in JSON; Records must leave them empty.
func Save(dir, name string, t Table) error {
	if argument.Nil(t) {
		return fmt.Errorf("study: %s: there is no table to save", name)
	}
	base := filepath.Join(dir, name)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = atomicfile.Write(base+".json", func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(finite.JSON(t))
		})
	}
	if err == nil {
		err = atomicfile.Write(base+".csv", func(w io.Writer) error {
			rows := csv.NewWriter(w)
			return errors.Join(rows.Write(t.Header()), rows.WriteAll(t.Records()))
		})
	}
	if err != nil {
		return fmt.Errorf("study: %s: %w", name, err)
	}
	if f := t.Figure(); f != nil {
		return f.Save(base)
	}
	return nil
}

// column is a field of a row that holds one value. The tag json names it in JSON and CSV. The
// tag show has its heading on a terminal, and after | the format of its numbers; other columns
// are not shown there.
type column struct {
	at                  []int // index of the field
	name, title, format string
}

// columns lists the columns of rows, a slice of structs.
func columns(rows any) []column {
	var all []column
	for _, f := range reflect.VisibleFields(reflect.TypeOf(rows).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		title, format, _ := strings.Cut(f.Tag.Get("show"), "|")
		if kind := f.Type.Kind(); name != "" && kind != reflect.Struct && kind != reflect.Slice {
			all = append(all, column{f.Index, name, title, format})
		}
	}
	return all
}

// cells writes the columns of each row.
func cells(rows any, columns []column, text func(c column, v reflect.Value) string) [][]string {
	all := make([][]string, reflect.ValueOf(rows).Len())
	for k := range all {
		row := reflect.ValueOf(rows).Index(k)
		for _, c := range columns {
			all[k] = append(all[k], text(c, row.FieldByIndex(c.at)))
		}
	}
	return all
}

// Header lists the names of the columns of rows, a slice of structs: of their fields that hold
// one value, by the tags json.
func Header(rows any) []string {
	var names []string
	for _, c := range columns(rows) {
		names = append(names, c.name)
	}
	return names
}

// Records writes the columns of rows, a slice of structs, as CSV has them.
func Records(rows any) [][]string {
	return cells(rows, columns(rows), func(_ column, v reflect.Value) string {
		if v.CanFloat() {
			return finite.Text(v.Float())
		}
		return fmt.Sprint(v)
	})
}

// special is a row that replaces the text of some columns on a terminal.
type special interface {
	cell(name, text string) string
}

// shown writes rows as a terminal has them, below their headings.
func shown(rows any) (head []string, texts [][]string) {
	titled := slices.DeleteFunc(columns(rows), func(c column) bool { return c.title == "" })
	texts = cells(rows, titled, func(c column, v reflect.Value) string {
		switch {
		case v.CanFloat() && math.IsNaN(v.Float()):
			return Text(v.Float())
		case v.CanFloat():
			return fmt.Sprintf(c.format, v.Float())
		case v.Kind() == reflect.Bool:
			return map[bool]string{true: "yes", false: "no"}[v.Bool()]
		}
		return fmt.Sprint(v)
	})
	for j, c := range titled {
		head = append(head, c.title)
		for k := range texts {
			if row, ok := reflect.ValueOf(rows).Index(k).Interface().(special); ok {
				texts[k][j] = row.cell(c.name, texts[k][j])
			}
		}
	}
	return head, texts
}
