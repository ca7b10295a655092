package study

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/gcn-layerwise/gcn/internal/argument"
	"github.com/gcn-layerwise/gcn/internal/atomicfile"
	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// Table is the outcome of a study, ready to be saved. The tables of this package
// implement it. JSON holds all their fields, CSV the rows.
type Table interface {
	List() List
	Figure() *figure.Figure // nil if there is nothing to draw
}

// List holds the rows of a table as text, for CSV and for a terminal.
type List struct {
	Header  []string   // names of the columns
	Records [][]string // numbers in full; empty if they are not finite

	Titles []string // headings of the columns that a terminal shows
	Shown  [][]string
	Below  []string // lines below them
}

// Save writes a table to dir as name.csv, name.json and, if the table has a figure,
// name.svg and name.png. It creates dir if necessary. NaN and infinite numbers are
// null in JSON.
func Save(dir, name string, t Table) error {
	if argument.Nil(t) {
		return fmt.Errorf("study: %s: there is no table to save", name)
	}
	base := filepath.Join(dir, name)
	err := cmp.Or(os.MkdirAll(dir, 0o777), atomicfile.Write(base+".json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(finite.JSON(t))
	}), atomicfile.Write(base+".csv", func(w io.Writer) error {
		rows, l := csv.NewWriter(w), t.List()
		return errors.Join(rows.Write(l.Header), rows.WriteAll(l.Records))
	}))
	if err != nil {
		return fmt.Errorf("study: %s: %w", name, err)
	}
	if f := t.Figure(); f != nil {
		return f.Save(base)
	}
	return nil
}

// special is a row that replaces the text of some columns on a terminal.
type special interface {
	cell(name, text string) string
}

// list lists rows, a slice of structs, with lines to stand below them. A column is a field that
// holds one value. The tag json names it in JSON and CSV. The tag show has its heading on a
// terminal, and after | the format of its numbers; other columns are not shown there.
func list(rows any, below ...string) List {
	all := reflect.ValueOf(rows)
	l := List{
		Records: make([][]string, all.Len()),
		Shown:   make([][]string, all.Len()),
		Below:   below,
	}
	for _, f := range reflect.VisibleFields(all.Type().Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if kind := f.Type.Kind(); name == "" || kind == reflect.Struct || kind == reflect.Slice {
			continue
		}
		l.Header = append(l.Header, name)
		title, format, _ := strings.Cut(f.Tag.Get("show"), "|")
		if title != "" {
			l.Titles = append(l.Titles, title)
		}
		for k := range all.Len() {
			record, shown := texts(all.Index(k).FieldByIndex(f.Index), format)
			l.Records[k] = append(l.Records[k], record)
			if row, ok := all.Index(k).Interface().(special); ok {
				shown = row.cell(name, shown)
			}
			if title != "" {
				l.Shown[k] = append(l.Shown[k], shown)
			}
		}
	}
	return l
}

// texts writes a value as CSV and as a terminal have it.
func texts(v reflect.Value, format string) (record, shown string) {
	switch {
	case v.CanFloat():
		return finite.Text(v.Float()), strings.Replace(fmt.Sprintf(format, v.Float()), "NaN", "–", 1)
	case v.Kind() == reflect.Bool:
		return fmt.Sprint(v), map[bool]string{true: "yes", false: "no"}[v.Bool()]
	}
	return fmt.Sprint(v), fmt.Sprint(v)
}
