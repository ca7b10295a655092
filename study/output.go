package study

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
