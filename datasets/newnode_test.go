package datasets

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/gcn-layerwise/gcn/graph"
)

func TestReadNode(t *testing.T) {
	numbered := &Data{Graph: &graph.CSR{Rows: 9}}
	named := &Data{Graph: &graph.CSR{Rows: 3}, NodeNames: new(graph.Names)}
	for _, name := range []string{"a", "b c", "7"} {
		named.NodeNames.Append(name)
	}
	for text, want := range map[string]struct {
		data      *Data
		features  []float32
		neighbors []int32
	}{
		`{"features": [0.5, -2], "neighbors": [8, 0]}`: {numbered, []float32{0.5, -2}, []int32{8, 0}},
		`{"neighbors": ["3"], "features": [1e-3]}`:     {numbered, []float32{1e-3}, []int32{3}},
		" {} \n": {numbered, nil, nil},
		`{"features": [1], "neighbors": ["b c", 7, "a"]}` + "\n": {named, []float32{1}, []int32{1, 2, 0}},
	} {
		features, neighbors, err := want.data.ReadNode(strings.NewReader(text))
		if err != nil || !slices.Equal(features, want.features) || !slices.Equal(neighbors, want.neighbors) {
			t.Errorf("%s: %v, %v, %v", text, features, neighbors, err)
		}
	}
	for text, want := range map[string]string{
		"":                       "one JSON object",
		"[]":                     "one JSON object",
		`{"features": [1, "2"]}`: "one JSON object",
		`{"features": [1e99]}`:   "one JSON object",
		`{"feature": [1]}`:       `unknown field "feature"`,
		`{} {}`:                  "more than one",
		`{} }`:                   "after the JSON object",
		`{"features": [1,null]}`: "feature 1 is null",
		`{"neighbors": [null]}`:  "not among the 9",
		`{"neighbors": [9]}`:     `node "9" is not among the 9`,
		`{"neighbors": [1.5]}`:   `node "1.5" is not among`,
	} {
		if _, _, err := numbered.ReadNode(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	failed := errors.New("failed")
	if _, _, err := numbered.ReadNode(iotest.ErrReader(failed)); !errors.Is(err, failed) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func FuzzReadNode(f *testing.F) {
	for _, text := range []string{`{"features": [0.5, -2], "neighbors": [8, "0"]}`, `{"features": [null]} {}`, `{"neighbors": [[1]]}`, "null"} {
		f.Add(text)
	}
	d := &Data{Graph: &graph.CSR{Rows: 9}}
	f.Fuzz(func(t *testing.T, text string) {
		_, neighbors, err := d.ReadNode(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, v := range neighbors {
			if v < 0 || v >= 9 {
				t.Fatalf("neighbour %d", v)
			}
		}
	})
}
