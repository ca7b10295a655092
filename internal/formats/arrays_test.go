package formats

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// A directed triangle has as many entries in each row as in each column.
func TestDirectedTriangle(t *testing.T) {
	p := &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2, 3}, Idx: []int32{1, 2, 0}}
	if got, err := parallel.Symmetric(context.Background(), p.Ptr, p.Idx); got || err != nil {
		t.Errorf("taken for symmetric: %v, %v", got, err)
	}
	d, err := readSet(context.Background(), "", Options{}, func(r *reader) { (&source{reader: r, name: "m"}).adjacency(p) })
	if err != nil || d.Graph.NNZ() != 6 || d.Graph.ValidateAdjacency(t.Context()) != nil {
		t.Errorf("%v: %+v", err, d)
	}
}

// Symmetric is true exactly for patterns that equal their transpose.
func TestSymmetricPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		p := &graph.CSR{Rows: n, Cols: n, Ptr: []int64{0}}
		var dense [8][8]bool
		for i := range n {
			for j := range n {
				switch mirrored := dense[j][i]; {
				case i == j:
				case j < i && rapid.IntRange(0, 20).Draw(t, "flip") > 0:
					dense[i][j] = mirrored
				default:
					dense[i][j] = rapid.Bool().Draw(t, "entry")
				}
				if dense[i][j] {
					p.Idx = append(p.Idx, int32(j))
				}
			}
			p.Ptr = append(p.Ptr, int64(len(p.Idx)))
		}
		want := true
		for i := range n {
			for j := range n {
				want = want && dense[i][j] == dense[j][i]
			}
		}
		if got, err := parallel.Symmetric(context.Background(), p.Ptr, p.Idx); err != nil || got != want {
			t.Fatalf("symmetric: %v, %v; want %v", got, err, want)
		}
	})
}
