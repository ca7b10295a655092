package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// ReadFeatures returns the features of one node from a JSON value such as
//
//	[0.1, 2]
//	{"town": "Bonn", "age": 31}
//
// Features of tables go by the names of their columns; one that is null or absent is missing.
// The values are as in the source, and ReadFeatures scales them as it did for d. Features made of
// the graph (onehot, position) are an error.
func (d *Data) ReadFeatures(text []byte) ([]float32, error) {
	row, err := d.encoding.newRow(text)
	if err == nil && len(row) != d.Features.Cols {
		err = fmt.Errorf("%d features, and the nodes of the graph have %d", len(row), d.Features.Cols)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: the features of a node: %w", err)
	}
	return row, nil
}

// newRow returns the features of a new node that JSON gives.
func (s *Schema) newRow(text []byte) ([]float32, error) {
	names := s.columnNames()
	switch object := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")); {
	case s.Made != "":
		return nil, fmt.Errorf("a node that the graph does not hold has no features=%s: train with features=%s", s.Made, degreeKey)
	case object && names == nil:
		return nil, errors.New("the features have no names: want an array of numbers")
	case object:
		return s.namedRow(text)
	}
	var values []*float32 // nil for null, which would be read as 0
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("want an array of numbers: %w", err)
	}
	if names != nil {
		return nil, fmt.Errorf("want the features by their names: %s", quoted(names))
	}
	row := make([]float32, len(values))
	var sum float64
	for k, v := range values {
		if v == nil {
			return nil, fmt.Errorf("feature %d is null", k)
		}
		if row[k] = *v; k < len(s.Columns) {
			row[k] = s.Columns[k].Scaled(*v)
		}
		sum += math.Abs(float64(*v))
	}
	if s.Normalize == "row" && sum > 0 {
		for k, v := range row {
			row[k] = float32(float64(v) / sum)
		}
	}
	return row, nil
}

// namedRow returns the features of the columns of tables that a JSON object gives.
func (s *Schema) namedRow(text []byte) (row []float32, err error) {
	var given map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return nil, err
	}
	var sum float64
	for _, c := range s.Columns {
		value := given[c.Name]
		delete(given, c.Name)
		first := len(row)
		if row, err = c.Append(row, value); err != nil {
			return nil, err
		}
		for _, v := range row[first:] {
			sum += math.Abs(float64(v))
		}
	}
	if len(given) > 0 {
		return nil, fmt.Errorf("no feature %s: want %s", quoted(slices.Sorted(maps.Keys(given))), quoted(s.columnNames()))
	}
	if s.Normalize == "row" && sum > 0 {
		for k, v := range row {
			row[k] = float32(float64(v) / sum)
		}
	}
	return row, nil
}
