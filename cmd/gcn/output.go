package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/gcn-layerwise/gcn/internal/finite"
	"github.com/gcn-layerwise/gcn/internal/machine"
)

// number is a float64 that JSON shows as null if it is not finite.
type number = finite.Number

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

// table aligns the cells of rows in columns, and writes all rows at once. The
// last column is not padded.
type table struct {
	buffer bytes.Buffer
	writer *tabwriter.Writer
}

// newTable returns an empty table. If numbers is true, cells are aligned right.
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

func (t *table) print(w io.Writer) {
	_ = t.writer.Flush() // to memory
	_, _ = w.Write(t.buffer.Bytes())
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
