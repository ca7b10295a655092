package formats

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Column says what a column of a table became: one feature for a number, one of 0 and 1 for
// each text, and after them one of 1 where a training node misses a value.
type Column struct {
	Name   string   `json:"name,omitempty"`
	Values []string `json:"values,omitempty"` // of texts, in order; nil for numbers

	// A number v becomes (v − Mean) / Deviation; a Deviation of 0 leaves it.
	Mean      float64 `json:"mean,omitempty"`
	Deviation float64 `json:"deviation,omitempty"`

	Missing bool `json:"missing,omitempty"` // a feature says where the value is missing
}

// Scaled returns the feature of a number.
func (c Column) Scaled(v float32) float32 {
	if c.Deviation == 0 {
		return v
	}
	return float32((float64(v) - c.Mean) / c.Deviation)
}

// Append appends the features of a value to row: a string of texts or a json.Number, nil where
// it is missing. A text that is none of Values is missing.
func (c Column) Append(row []float32, value any) ([]float32, error) {
	at, missing := len(row), value == nil
	row = append(row, make([]float32, max(len(c.Values), 1))...)
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	switch {
	case missing:
	case c.Values != nil && (isNumber || isText):
		k := slices.Index(c.Values, text+number.String())
		if missing = k < 0; !missing {
			row[at+k] = 1
		}
	case c.Values == nil && isNumber:
		wide, err := strconv.ParseFloat(number.String(), 64)
		v := float32(wide)
		if err != nil || v-v != 0 {
			return row, fmt.Errorf("feature %q: %s is beyond float32", c.Name, number)
		}
		row[at] = c.Scaled(v)
	case c.Values == nil:
		return row, fmt.Errorf("feature %q: %.40q is no number", c.Name, fmt.Sprint(value))
	default:
		return row, fmt.Errorf("feature %q: want a text", c.Name)
	}
	if c.Missing {
		if row = append(row, 0); missing {
			row[len(row)-1] = 1
		}
	}
	return row, nil
}

// Columns says what the columns became, after Features.
func (t *Table) Columns() []Column {
	columns := make([]Column, len(t.columns))
	for k := range t.columns {
		columns[k] = t.columns[k].Column
	}
	return columns
}

// orderColumns puts the columns into the order of the schema. One that no table has is an error.
func (e *edgeList) orderColumns(t *Table) {
	path := e.keys["features"]
	var ordered []tableColumn
	var lacking []string
	for _, want := range e.o.Columns {
		k := slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.Name == want.Name })
		if k < 0 {
			lacking = append(lacking, fmt.Sprintf("%q", want.Name))
			continue
		}
		again := slices.ContainsFunc(t.columns[k+1:], func(c tableColumn) bool { return c.Name == want.Name })
		e.check(!again, path, "two columns %q", want.Name)
		ordered = append(ordered, t.columns[k])
	}
	e.check(lacking == nil, path, "the run was trained with columns of features that are missing here: %s", strings.Join(lacking, ", "))
	t.columns, t.known = ordered, true
}
