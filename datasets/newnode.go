package datasets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ReadFeatures returns the features of one node from a JSON value such as
//
//	[0.1, 2]
//	{"town": "Bonn", "age": 31}
//
// Features of tables go by the names of their columns; one that is null or absent is missing.
// The values are as in the source, and ReadFeatures scales them as it did for d. Features made of
// positions in the graph are an error, and so are scaled values above 1e18: the squares of
// smaller ones are finite in float32, and so are sums of their products over features, neighbours
// and layers.
func (d *Data) ReadFeatures(text []byte) ([]float32, error) {
	row, err := d.encoding.newRow(text)
	if err == nil && len(row) != d.Features.Cols {
		err = fmt.Errorf("%d features, and the nodes of the graph have %d", len(row), d.Features.Cols)
	}
	if slices.ContainsFunc(row, func(x float32) bool { return x > 1e18 || x < -1e18 }) {
		err = errors.New("too large: want at most 1e18, as the model reads them")
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: the features of a node: %w", err)
	}
	return row, nil
}

// NewFeatures is ReadFeatures for a new node with the given number of neighbours. With
// features=degree the text may be empty: the features are then made of this number.
func (d *Data) NewFeatures(text []byte, neighbors int) ([]float32, error) {
	if len(text) > 0 || d.encoding.Made != degreeKey {
		return d.ReadFeatures(text)
	}
	row := make([]float32, 2)
	degreeRow(row, neighbors)
	d.encoding.scaleRow(row)
	return row, nil
}

// newRow returns the features of a new node that JSON gives.
func (s *Schema) newRow(text []byte) ([]float32, error) {
	if s.ofOneGraph() {
		return nil, fmt.Errorf("a node that the graph does not hold has no features=%s: train with features=%s", s.Made, degreeKey)
	}
	if names := s.columnNames(); names != nil {
		return s.namedRow(text, names)
	}
	var values []*float32 // nil for null, which would be read as 0
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, fmt.Errorf("want an array of numbers, since the features have no names: %w", err)
	}
	row := make([]float32, len(values))
	for k, v := range values {
		if v == nil {
			return nil, fmt.Errorf("feature %d is null", k)
		}
		row[k] = *v
	}
	s.scaleRow(row)
	return row, nil
}

// namedRow returns the features of the columns of tables that a JSON object gives.
func (s *Schema) namedRow(text []byte, names []string) (row []float32, err error) {
	var given map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil || given == nil {
		return nil, fmt.Errorf("want an object with the features by their names: %s: %w", quoted(names), cmp.Or(err, errors.New("got null")))
	}
	for _, c := range s.Columns {
		value := given[c.Name]
		delete(given, c.Name)
		if row, err = c.Append(row, value); err != nil {
			return nil, err
		}
	}
	if len(given) > 0 {
		return nil, fmt.Errorf("no feature %s: want %s", quoted(slices.Sorted(maps.Keys(given))), quoted(names))
	}
	if s.Normalize == "row" {
		s.scaleRow(row)
	}
	return row, nil
}
