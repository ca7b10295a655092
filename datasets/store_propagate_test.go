package datasets

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// P·X in blocks of rows has the bits of P·X of the stored features in memory.
func TestPropagatedInBlocks(t *testing.T) {
	dir := t.TempDir()
	stored := func(name string, d *Data) string {
		path := filepath.Join(dir, name)
		if err := WriteStore(t.Context(), path, d); err != nil {
			t.Fatal(err)
		}
		return "store:" + path
	}
	plain := made(t, 900, 5)
	for k := range plain.Features.Data {
		plain.Features.Data[k] /= 3 // not representable as halves
	}
	weighted := made(t, 200, 3)
	weighted.Graph.Val = make([]float32, weighted.Graph.NNZ())
	for i := range weighted.Nodes() {
		for k := weighted.Graph.Ptr[i]; k < weighted.Graph.Ptr[i+1]; k++ {
			weighted.Graph.Val[k] = 1 + float32((i+int(weighted.Graph.Idx[k]))%5)
		}
	}
	directed := made(t, 150, 2)
	directed.Directed = true
	directed.NodeNames = manyNames(150)
	folder := "ogb:" + binaryFolder(t, plain, arcsOf(plain, 3), zip.Store, false)
	halves := filepath.Join(dir, "halves")
	if _, err := Convert(t.Context(), "synth:demo?nodes=700&features=19", halves, Options{Half: true}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"generated": "synth:demo?nodes=900&features=10", "folder": folder, "plain": stored("plain", plain),
		"weighted": stored("weighted", weighted), "directed": stored("directed", directed), "halves": "store:" + halves,
	} {
		for _, p := range []bool{false, true} {
			inMemory := filepath.Join(dir, "a")
			if _, err := Convert(t.Context(), text, inMemory, Options{Half: p}); err != nil {
				t.Fatal(err)
			}
			d := open(t, "store:"+inMemory)
			want := make([]float32, 0, d.Features.Len())
			err := kernel.PropagateFeatures(t.Context(), d.Laplacian(), d.Features, func(_ int, rows []float32) error {
				want = append(want, rows...)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			passes, last := 0, FetchProgress{}
			o := Options{Half: p, Propagated: true, Memory: streamMemory, block: 3000, Progress: func(f FetchProgress) {
				if f.Stage == "propagate" {
					if f.Done < last.Done {
						t.Errorf("%s: progress from %d to %d", name, last.Done, f.Done)
					}
					passes, last = passes+1, f
				}
			}}
			path := filepath.Join(dir, "b")
			if _, err := Convert(t.Context(), text, path, o); err != nil {
				t.Fatal(err)
			}
			if passes < 2*3 || last.Done != last.Total || last.Total != 4*int64(d.Nodes()*d.Features.Cols) {
				t.Errorf("%s: %d reports, the last %+v", name, passes, last)
			}
			got := open(t, "store:"+path)
			if px := got.Propagated.Float32s(); got.Propagated.Half != nil {
				if want := rounded(&graph.Features{Rows: d.Nodes(), Cols: d.Features.Cols, Data: want}); !slices.Equal(px, want) {
					t.Errorf("%s as half %v: another P·X", name, p)
				}
			} else if !slices.Equal(px, want) {
				t.Errorf("%s as half %v: another P·X", name, p)
			}
			got.Propagated = nil
			sameData(t, got, d)
			o.block = 9000
			sameStores(t, name+", cancelled", cancelledOften(t, text, filepath.Join(dir, "c"), o), path)
			if err := os.Remove(filepath.Join(dir, "c")); err != nil {
				t.Fatal(err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Fatalf("left behind: %q", left)
			}
		}
	}
}

func manyNames(n int) *graph.Names {
	names := new(graph.Names)
	for i := range n {
		names.Text = fmt.Appendf(names.Text, "node %d", i)
		names.Ends = append(names.Ends, int64(len(names.Text)))
	}
	return names
}

func TestPropagatedInBlocksRefused(t *testing.T) {
	dir := t.TempDir()
	source, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	// A value that is too large for float16 is reported with its node.
	large := made(t, 300, 5)
	for k := range large.Features.Data {
		large.Features.Data[k] = 60000
	}
	if err := WriteStore(t.Context(), source+"2", large); err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(t.Context(), "store:"+source+"2", path+"2", Options{Half: true, Propagated: true, Memory: streamMemory}); !errors.Is(err, graph.ErrInvalid) || !strings.Contains(err.Error(), "of node") {
		t.Errorf("too large for float16: %v", err)
	}
}

// However little memory there may be, a block has many rows: a pass over the features for each row
// would not end.
func TestPropagatedInLittleMemory(t *testing.T) {
	dir, reports := t.TempDir(), 0
	if err := WriteStore(t.Context(), dir+"/a", made(t, 300, 5)); err != nil {
		t.Fatal(err)
	}
	_, err := Convert(t.Context(), "store:"+dir+"/a", dir+"/b", Options{Propagated: true, Memory: 1, Progress: func(f FetchProgress) {
		if f.Stage == "propagate" {
			reports++
		}
	}})
	if err != nil || reports > 30 {
		t.Errorf("%d reports of 300 rows: %v", reports, err)
	}
}

// A process that is killed at random while it computes P·X leaves no store.
func TestPropagatedKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("kills processes")
	}
	dir := t.TempDir()
	source, inMemory, path := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c")
	if _, err := Convert(t.Context(), "synth:papers100M?nodes=60000&features=16", source, Options{Half: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := Convert(t.Context(), "store:"+source, inMemory, Options{Propagated: true}); err != nil {
		t.Fatal(err)
	}
	killOften(t, "propagate store:"+source+" "+path, path, inMemory, 12, 250)
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
