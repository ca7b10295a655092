package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/gcn-layerwise/gcn/internal/finite"
)

// number is a float64 that JSON shows as null where it is not finite.
type number float64

func (x number) MarshalJSON() ([]byte, error) {
	f := float64(x)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes: null is NaN.
func (x *number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*x = number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(x))
}

// measured rounds a measurement to the six digits that it may be good for.
func measured(x float64) number {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	if err != nil {
		return number(x)
	}
	return number(rounded)
}

// printJSON writes v as one JSON object on one line; numbers that are not finite
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

// table lines up rows of cells, each on a line, and writes them at once. The last column of a
// table is not padded.
type table struct {
	buffer bytes.Buffer
	writer *tabwriter.Writer
}

// newTable returns an empty table; numbers tells to align cells to the right.
func newTable(numbers bool) *table {
	t := new(table)
	var flags uint
	if numbers {
		flags = tabwriter.AlignRight
	}
	t.writer = tabwriter.NewWriter(&t.buffer, 0, 0, 2, ' ', flags)
	return t
}

func (t *table) row(cells ...any) {
	for _, cell := range cells[:len(cells)-1] {
		fmt.Fprintf(t.writer, "%s\t", escape(fmt.Sprint(cell), ""))
	}
	fmt.Fprintf(t.writer, "%s\n", escape(fmt.Sprint(cells[len(cells)-1]), ""))
}

func (t *table) print(w io.Writer) error {
	if err := t.writer.Flush(); err != nil {
		return err
	}
	_, err := w.Write(t.buffer.Bytes())
	return err
}

// thousands writes n with a comma between groups of three digits.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
