package datasets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// ReadNode reads a node that the graph does not hold, for layers.NewNode: one JSON object such
// as
//
//	{"features": [0.1, 2], "neighbors": [7, "n12"]}
//	{"features": {"town": "Bonn", "age": 31}, "neighbors": ["ada"]}
//
// Features of tables go by the names of their columns; one that is null or absent is missing.
// The values are as in the source, and ReadNode scales them as it did for d. Features made of the
// graph (onehot, position) are an error. It returns the features and the neighbours' numbers. An id is as for Node; a number needs no quotes. It reads r to its end, so
// the caller limits its length. An error of r is wrapped.
func (d *Data) ReadNode(r io.Reader) (features []float32, neighbors []int32, err error) {
	var given struct {
		Features  json.RawMessage
		Neighbors []any
	}
	if err := decodeOne(r, &given); err != nil {
		return nil, nil, fmt.Errorf("datasets: a new node: %w", err)
	}
	if given.Features != nil {
		if features, err = d.encoding.newRow(given.Features); err != nil {
			return nil, nil, fmt.Errorf("datasets: a new node: %w", err)
		}
		if d.encoding.Normalize == "row" {
			normalizeRow(features)
		}
	}
	for _, id := range given.Neighbors {
		v, err := d.Node(fmt.Sprint(id))
		if err != nil {
			return nil, nil, err
		}
		neighbors = append(neighbors, v)
	}
	return features, neighbors, nil
}

// decodeOne reads one JSON object and nothing after it.
func decodeOne(r io.Reader, to any) error {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(to); err != nil {
		return fmt.Errorf("want one JSON object with features and neighbors: %w", err)
	}
	if err := decoder.Decode(new(any)); err == nil {
		return errors.New("more than one JSON object")
	} else if err != io.EOF {
		return fmt.Errorf("after the JSON object: %w", err)
	}
	return nil
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
		return nil, fmt.Errorf("want one JSON object with features and neighbors: %w", err)
	}
	if names != nil {
		return nil, fmt.Errorf("want the features by their names: %s", quoted(names))
	}
	row := make([]float32, len(values))
	for k, v := range values {
		if v == nil {
			return nil, fmt.Errorf("feature %d is null", k)
		}
		if row[k] = *v; k < len(s.Columns) {
			row[k] = s.Columns[k].Scaled(*v)
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
	for _, c := range s.Columns {
		value := given[c.Name]
		delete(given, c.Name)
		if row, err = c.Append(row, value); err != nil {
			return nil, err
		}
	}
	if len(given) > 0 {
		return nil, fmt.Errorf("no feature %s: want %s", quoted(slices.Sorted(maps.Keys(given))), quoted(s.columnNames()))
	}
	return row, nil
}
