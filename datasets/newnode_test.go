package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

func TestReadFeatures(t *testing.T) {
	d := &Data{Features: &graph.Features{Cols: 2}}
	if row, err := d.ReadFeatures([]byte(" [0.5, -2]\n")); err != nil || !slices.Equal(row, []float32{0.5, -2}) {
		t.Errorf("%v, %v", row, err)
	}
	for text, want := range map[string]string{
		"":          "array of numbers",
		`[1, "2"]`:  "array of numbers",
		"[1e99, 2]": "array of numbers",
		"[1, 2] []": "array of numbers",
		"[1,null]":  "feature 1 is null",
		"[1]":       "1 features, and the nodes of the graph have 2",
		`{"a": 1}`:  "no names",
	} {
		if _, err := d.ReadFeatures([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
