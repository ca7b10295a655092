package formats

import (
	"context"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// A directed triangle has as many entries in each row as in each column.
func TestDirectedTriangle(t *testing.T) {
	p := &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2, 3}, Idx: []int32{1, 2, 0}}
	if p.ValidateAdjacency(t.Context(), false) == nil {
		t.Error("taken for symmetric")
	}
	d, err := readSet(context.Background(), "", Options{}, func(r *reader) { (&source{reader: r, name: "m"}).adjacency(p) })
	if err != nil || d.Graph.NNZ() != 6 || d.Graph.ValidateAdjacency(t.Context(), false) != nil {
		t.Errorf("%v: %+v", err, d)
	}
}
