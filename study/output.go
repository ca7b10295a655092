package study

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

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
// there is a figure name.svg and name.png.
func Save(dir, name string, t Table) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	base := filepath.Join(dir, name)
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("study: %s: %w", name, err)
	}
	if err := os.WriteFile(base+".json", append(text, '\n'), 0o666); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	if err := writeCSV(base+".csv", t); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	if f := t.Figure(); f != nil {
		return f.Save(base)
	}
	return nil
}

func writeCSV(path string, t Table) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(file)
	err = errors.Join(w.Write(t.Header()), w.WriteAll(t.Records()))
	return errors.Join(err, file.Close())
}

// digits writes a number as CSV holds it: as short as it reads back the same.
func digits(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
