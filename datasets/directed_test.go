package datasets

import (
	"archive/zip"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/graph"
)

// The key directed keeps the directions of an edge list and of a sparse matrix; stores keep
// them too.
func TestDirected(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "0,1\n0,2\n2,1\n0,1\n3,3\n1,0\n", "l": "1\n0\n1\n0\n", "w": "0,1,2\n0,2,3\n2,1,4\n"})
	out := &graph.CSR{Rows: 4, Cols: 4, Ptr: []int64{0, 2, 3, 4, 4}, Idx: []int32{1, 2, 0, 1}}
	for direction, want := range map[string]*graph.CSR{"out": out, "in": out.Transpose()} {
		d := open(t, in("D/e?labels=D/l&directed="+direction))
		if !d.Directed || !cmp.Equal(d.Graph, want) || d.Edges() != 4 || d.Report.Duplicates != 1 || d.Report.SelfLoops != 1 {
			t.Errorf("%s: %v, %+v, want %v", direction, d.Graph, d.Report, want)
		}
		if p := d.Laplacian(); !p.Directed || p.At(3, 3) != 1 {
			t.Errorf("%s: Laplacian %v", direction, p)
		}
		if !strings.Contains(strings.Join(d.Notes, "\n"), "directed="+direction) || !Describe(d).Directed {
			t.Errorf("%s: notes %q", direction, d.Notes)
		}
		store := filepath.Join(t.TempDir(), "s.store")
		if err := WriteStore(context.Background(), store, d); err != nil {
			t.Fatal(err)
		}
		if s := open(t, "store:"+store); !s.Directed || !cmp.Equal(s.Graph, want) {
			t.Errorf("%s: store: %v", direction, s.Graph)
		}
	}
	if d := open(t, in("D/w?labels=D/l&directed=in&weights=1")); !cmp.Equal(d.Graph.Row(1), []int32{0, 2}) || !cmp.Equal(d.Graph.RowValues(1), []float32{2, 4}) {
		t.Errorf("weighted: %v", d.Graph)
	}
	if d := open(t, in("D/e?labels=D/l&directed=0")); d.Directed || d.Edges() != 3 {
		t.Errorf("directed=0: %v", d.Graph)
	}
	expectError(t, in("D/e?labels=D/l&directed=1"), "directed=1: want 0, out, in")
	expectError(t, "planetoid:x/y?directed=in", `unknown key "directed"`)
}

// A directed graph that says it is undirected is refused.
func TestDirectedMustSaySo(t *testing.T) {
	d := made(t, 10, 1)
	d.Graph = &graph.CSR{Rows: 10, Cols: 10, Ptr: []int64{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Idx: []int32{1}}
	if err := d.Validate(); err == nil {
		t.Error("no error")
	}
	d.Directed = true
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
}

// The values of SciPy's matrices are weights if the key says so; else a note says that they
// are not read.
func TestWeightsOfMatrices(t *testing.T) {
	d := made(t, 20, 1)
	members := benchmarkMembers(t, d)
	weights := make([]float32, len(d.Graph.Idx))
	for i := range d.Nodes() {
		for k := d.Graph.Ptr[i]; k < d.Graph.Ptr[i+1]; k++ {
			weights[k] = float32(i + int(d.Graph.Idx[k]))
		}
	}
	members["adj_data"], members["adj_indptr"], members["adj_indices"] = array(t, weights), array(t, d.Graph.Ptr), array(t, d.Graph.Idx)
	file := filepath.Join(t.TempDir(), "made.npz")
	write(t, file, archive(t, zip.Store, members))
	if got := open(t, "npz:"+file); got.Graph.Val != nil || !strings.Contains(strings.Join(got.Notes, "\n"), "weights=1 reads it") {
		t.Errorf("notes %q", got.Notes)
	}
	if got := open(t, "npz:"+file+"?weights=1"); !cmp.Equal(got.Graph.Val, weights) {
		t.Errorf("weights %v, want %v", got.Graph.Val, weights)
	}
}
