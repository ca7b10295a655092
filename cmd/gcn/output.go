package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/study"
)

// number is a float64 that JSON shows as null if it is not finite.
type number = finite.Number

// resultOptions are the options of a command with a result.
type resultOptions struct {
	JSON bool `json:"json" help:"print the result as one JSON object, last on standard output"`
}

// measured is the part of a result about the machine.
type measured struct {
	WallS   number `json:"wall_s"`
	PeakRSS number `json:"peak_rss_mb"`
	BLAS    string `json:"blas"`
}

// measure returns the time since start, the memory and the BLAS of this process.
func measure(start time.Time) measured {
	return measured{finite.Measured(time.Since(start).Seconds()), finite.Measured(machine.PeakRSS()), machine.BLAS()}
}

// worded is a result with a text of its own.
type worded struct {
	value any
	text  func(w io.Writer)
}

// MarshalJSON implements json.Marshaler.
func (r worded) MarshalJSON() ([]byte, error) { return finite.JSON(r.value).MarshalJSON() }

// printResult prints a result as one JSON object if the command line asks for it, else as text.
func printResult(cmd *cobra.Command, result any) error {
	asJSON, _ := cmd.Flags().GetBool("json")
	switch own, isWorded := result.(worded); {
	case asJSON:
		return printJSON(cmd.OutOrStdout(), result)
	case isWorded:
		own.text(cmd.OutOrStdout())
		return nil
	}
	return printText(cmd.OutOrStdout(), result)
}

// printJSON writes v as one JSON object on one line. Numbers that are not finite
// are null.
func printJSON(w io.Writer, v any) error {
	text, err := finite.JSON(v).MarshalJSON()
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// printText prints the JSON object of v as text: a line for each field, and below them a table for
// each list of objects.
func printText(w io.Writer, v any) error {
	object, err := finite.JSON(v).MarshalJSON()
	if err != nil {
		return err
	}
	lines, tables := textOf("", object)
	lines.print(w)
	for _, t := range tables {
		say(w, "")
		t.print(w)
	}
	return nil
}

// textOf returns the lines of a field of a JSON object, and its tables. A field of an object inside
// another has both names. A matrix is left out.
func textOf(name string, value jsontext.Value) (lines table, tables []table) {
	switch list := fieldsOf(value); {
	case value.Kind() == '{':
		for _, f := range list {
			more, others := textOf(strings.TrimSpace(name+" "+f.name), f.value)
			lines, tables = append(lines, more...), append(tables, others...)
		}
	case len(list) > 0 && list[0].value.Kind() == '{':
		tables = append(tables, tableOf(list))
	case len(list) == 0 || list[0].value.Kind() != '[':
		lines.row(name, valueText(value))
	}
	return lines, tables
}

// tableOf returns a row for each object, below the names of the first one's fields.
func tableOf(objects []field) table {
	rows := make(table, 1+len(objects))
	for k, object := range objects {
		for _, f := range fieldsOf(object.value) {
			if k == 0 {
				rows[0] = append(rows[0], f.name)
			}
			rows[k+1] = append(rows[k+1], valueText(f.value))
		}
	}
	return rows
}

// field is a field of a JSON object, or an element of a list, without a name.
type field struct {
	name  string // small, with blanks in place of underscores
	value jsontext.Value
}

// fieldsOf returns the fields of an object, or the elements of a list, that this program wrote. A
// value of another kind has none.
func fieldsOf(value jsontext.Value) (list []field) {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	_, _ = d.ReadToken()
	for kind := d.PeekKind(); kind != 0 && kind != '}' && kind != ']'; kind = d.PeekKind() {
		var f field
		if value.Kind() == '{' {
			name, _ := d.ReadToken()
			f.name = strings.ToLower(strings.ReplaceAll(name.String(), "_", " "))
		}
		inner, _ := d.ReadValue()
		f.value = inner.Clone()
		list = append(list, f)
	}
	return list
}

// valueText returns a value as text: a number that is not whole as study.Text writes it, a dash for
// null, and the elements of a list with commas between them.
func valueText(value jsontext.Value) string {
	switch value.Kind() {
	case 'n':
		return "–"
	case '"':
		unquoted, _ := jsontext.AppendUnquote(nil, value)
		return string(unquoted)
	case '0':
		if x, _ := strconv.ParseFloat(string(value), 64); strings.ContainsAny(string(value), ".e") {
			return study.Text(x)
		}
	case '{', '[':
		var words []string
		for _, f := range fieldsOf(value) {
			words = append(words, valueText(f.value))
		}
		return strings.Join(words, ", ")
	}
	return string(value)
}

// table holds rows of cells.
type table [][]string

func (t *table) row(cells ...string) { *t = append(*t, cells) }

func (t table) print(w io.Writer) { t.align(w, 0) }

// align prints the cells in columns. The flag of tabwriter is AlignRight, or 0.
func (t table) align(w io.Writer, flag uint) {
	columns, end := tabwriter.NewWriter(w, 0, 0, 2, ' ', flag), "\n"
	if flag != 0 {
		end = "\t\n" // the last column is aligned, too
	}
	for _, cells := range t {
		for k := range cells {
			cells[k] = escape(cells[k], "")
		}
		fmt.Fprint(columns, strings.Join(cells, "\t"), end)
	}
	_ = columns.Flush() // the stream keeps its error
}
