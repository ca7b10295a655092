package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadNode reads a node that the graph does not hold, for layers.NewNode: one JSON object such
// as
//
//	{"features": [0.1, 2], "neighbors": [7, "n12"]}
//
// It returns the features as they are given, and the neighbours' numbers. Their ids are those of
// Node; numbers need no quotes. It reads r to its end, so the caller limits its length. An
// error of r is wrapped.
func (d *Data) ReadNode(r io.Reader) (features []float32, neighbors []int32, err error) {
	var given struct {
		Features  []*float32 // nil for null, which would be read as 0
		Neighbors []any
	}
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return nil, nil, fmt.Errorf("datasets: a new node: want one JSON object with features and neighbors: %w", err)
	}
	if err := decoder.Decode(new(any)); err == nil {
		return nil, nil, errors.New("datasets: a new node: more than one JSON object")
	} else if err != io.EOF {
		return nil, nil, fmt.Errorf("datasets: a new node: after the JSON object: %w", err)
	}
	for k, v := range given.Features {
		if v == nil {
			return nil, nil, fmt.Errorf("datasets: a new node: feature %d is null", k)
		}
		features = append(features, *v)
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
