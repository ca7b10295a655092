package main

import (
	"bytes"
	"encoding/json"
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

// result prints v as one JSON object if the command line asks for it, else what show prints; with
// a nil show the same object as text.
func result(cmd *cobra.Command, v any, show func(w io.Writer)) error {
	w := cmd.OutOrStdout()
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return printJSON(w, v)
	}
	if show != nil {
		show(w)
		return nil
	}
	return printText(w, v)
}

// printJSON writes v as one JSON object on one line. Numbers that are not finite
// are null.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(finite.JSON(v)); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// printText prints the JSON object of v as text: a line for each field, and below them a table for
// each list of objects.
func printText(w io.Writer, v any) error {
	object, err := finite.JSON(v).MarshalJSON()
	if err != nil {
		return err
	}
	lines, tables := textOf(field{value: readJSON(jsontext.NewDecoder(bytes.NewReader(object)))})
	lines.print(w)
	for _, t := range tables {
		say(w, "")
		t.print(w)
	}
	return nil
}

// field is a field of a JSON object, or with the name "" an element of a list. The value is a
// text, or []field for an object or a list.
type field struct {
	name  string
	value any
}

// readJSON reads a value that this program has written. Numbers get four digits, or all before the
// point. null becomes a dash, and names are small, with blanks in place of underscores.
func readJSON(d *jsontext.Decoder) any {
	token, _ := d.ReadToken()
	switch kind := token.Kind(); kind {
	case 'n':
		return "–"
	case '0':
		text := token.String()
		if x, err := token.Float(); err == nil && strings.ContainsAny(text, ".e") {
			text = fmt.Sprintf("%.*g", max(4, len(strconv.Itoa(int(x)))), x)
		}
		return text
	case '{', '[':
		list := []field{}
		for d.PeekKind() != kind+2 { // } or ]
			var f field
			if kind == '{' {
				name, _ := d.ReadToken()
				f.name = strings.ToLower(strings.ReplaceAll(name.String(), "_", " "))
			}
			f.value = readJSON(d)
			list = append(list, f)
		}
		_, _ = d.ReadToken()
		return list
	}
	return token.String()
}

// textOf returns the lines of a field, and its tables. A field of an object inside another has both
// names. A matrix is left out.
func textOf(f field) (lines table, tables []table) {
	list, _ := f.value.([]field)
	var first []field
	if len(list) > 0 {
		first, _ = list[0].value.([]field)
	}
	switch {
	case len(list) > 0 && list[0].name != "": // an object
		for _, inner := range list {
			inner.name = strings.TrimSpace(f.name + " " + inner.name)
			more, others := textOf(inner)
			lines, tables = append(lines, more...), append(tables, others...)
		}
	case len(first) == 0:
		lines.row(f.name, valueText(f.value))
	case first[0].name != "": // a list of objects
		tables = append(tables, tableOf(list))
	}
	return lines, tables
}

// tableOf returns a row for each object, below the names of the first one's fields.
func tableOf(objects []field) table {
	rows := make(table, 1+len(objects))
	for k, object := range objects {
		for _, f := range object.value.([]field) {
			if k == 0 {
				rows[0] = append(rows[0], f.name)
			}
			rows[k+1] = append(rows[k+1], valueText(f.value))
		}
	}
	return rows
}

// valueText returns a text, or the elements of a list with commas between them.
func valueText(value any) string {
	list, isList := value.([]field)
	if !isList {
		return value.(string)
	}
	words := make([]string, len(list))
	for k, element := range list {
		words[k] = valueText(element.value)
	}
	return strings.Join(words, ", ")
}

// table holds rows of cells.
type table [][]string

func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for k, cell := range cells {
		texts[k] = fmt.Sprint(cell)
	}
	*t = append(*t, texts)
}

func (t table) print(w io.Writer) { t.align(w, 0) }

// align prints the cells in columns, but for the last one. A flag of tabwriter is AlignRight.
func (t table) align(w io.Writer, flags uint) {
	var b bytes.Buffer
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', flags)
	for _, cells := range t {
		for _, cell := range cells[:len(cells)-1] {
			fmt.Fprint(columns, escape(cell, ""), "\t")
		}
		fmt.Fprintln(columns, escape(cells[len(cells)-1], ""))
	}
	_ = columns.Flush() // to memory
	_, _ = w.Write(b.Bytes())
}

// thousands writes n, which is not negative, with a comma between groups of three digits.
func thousands(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
