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

// Table is the outcome of a study, ready to be saved. The tables of this
// package implement it; JSON shows all that they hold, CSV the rows.
type Table interface {
	Header() []string
	Records() [][]string
	Figure() *figure.Figure // nil where there is nothing to draw
}

// Save writes a table to dir, which it makes: name.csv, name.json, and where
// there is a figure name.svg and name.png. Numbers that are NaN or infinite are
// null in JSON; Records are to leave them empty.
func Save(dir, name string, t Table) error {
	if argument.Nil(t) {
		return fmt.Errorf("study: %s: there is no table to save", name)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	base := filepath.Join(dir, name)
	text, err := json.MarshalIndent(finite.JSON(t), "", "  ")
	if err != nil {
		return fmt.Errorf("study: %s: %w", name, err)
	}
	err = atomicfile.Write(base+".json", func(w io.Writer) error {
		_, err := w.Write(append(text, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	err = atomicfile.Write(base+".csv", func(w io.Writer) error {
		rows := csv.NewWriter(w)
		return errors.Join(rows.Write(t.Header()), rows.WriteAll(t.Records()))
	})
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	if f := t.Figure(); f != nil {
		return f.Save(base)
	}
	return nil
}
