package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// thinned returns a random data set whose features are sparse, binary or not.
func thinned(t testing.TB, n int, seed uint64, variant int) *Data {
	t.Helper()
	d := madeVariant(t, n, seed, variant)
	for k, v := range d.Features.Data {
		if v > 0 && variant&1 != 0 {
			d.Features.Data[k] = 1
		} else if v < 0 {
			d.Features.Data[k] = 0
		}
	}
	d.Features = d.Features.ToSparse()
	return d
}

// sameFeatures checks the form and the values of features.
func sameFeatures(t *testing.T, what string, got *Data, want *graph.Features, sparse bool) {
	t.Helper()
	if (got.Features.Sparse != nil) != sparse {
		t.Errorf("%s: sparse features: %v, want %v", what, got.Features.Sparse != nil, sparse)
	}
	if !slices.Equal(got.Features.Float32s(), want.Float32s()) {
		t.Errorf("%s: features %v, want %v", what, got.Features.Float32s(), want.Float32s())
	}
	if err := got.Validate(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// sciPy returns a matrix as scipy.sparse.save_npz writes it.
func sciPy(t testing.TB, x *graph.Features) []byte {
	t.Helper()
	m := x.ToSparse().Sparse
	values := m.Val
	if values == nil {
		values = slices.Repeat([]float32{1}, len(m.Idx))
	}
	bytesOf := strings.NewReplacer("|u1", "|S3", "(3,), }", "(), }  ") // NumPy's bytes, without dimensions
	return archive(t, zip.Store, map[string][]byte{
		"indices": array(t, m.Idx), "indptr": array(t, m.Ptr), "data": array(t, values),
		"format": []byte(bytesOf.Replace(string(array(t, []byte("csr"))))), "shape": array(t, []int64{int64(m.Rows), int64(m.Cols)}),
	})
}

// The key sparse chooses the form for sources of either form; small features are dense
// without it.
func TestSparseKey(t *testing.T) {
	want, dir := thinned(t, 40, 3, 1), t.TempDir()
	want.Graph.Val = nil
	dense := *want.Features
	dense.Sparse, dense.Data = nil, want.Features.Float32s()
	d := &Data{Graph: want.Graph, Features: &dense, Labels: want.Labels, Split: want.Split}
	write(t, filepath.Join(dir, "bench.npz"), archive(t, zip.Deflate, benchmarkMembers(t, d)))
	writeFiles(t, filepath.Join(dir, "npy"), npyFiles(t, d))
	writeFiles(t, filepath.Join(dir, "scipy"), npyFiles(t, d))
	if err := os.Remove(filepath.Join(dir, "scipy", "feat.npy")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "scipy", "feat.npz"), sciPy(t, d.Features))
	writeFiles(t, filepath.Join(dir, "edges"), edgeFiles(d))
	write(t, filepath.Join(dir, "edges", "x.npz"), sciPy(t, d.Features))
	writeFiles(t, filepath.Join(dir, "planetoid"), planetoidFiles(t, d))
	sets := make([]string, d.Nodes())
	for i := range sets {
		sets[i] = fmt.Sprintf(`"%d": %s`, i, jsonIDs(want.Features.Sparse.Row(i)))
	}
	write(t, filepath.Join(dir, "edges", "sets.json"), []byte("{"+strings.Join(sets, ", ")+"}"))
	edges := filepath.Join(dir, "edges")
	for _, spec := range []string{
		"npz:" + filepath.Join(dir, "bench.npz") + "?", "npy:" + filepath.Join(dir, "npy") + "?", "npy:" + filepath.Join(dir, "scipy") + "?",
		"planetoid:" + filepath.Join(dir, "planetoid", "made") + "?",
		"edges:" + edges + "/edges.csv?labels=" + edges + "/labels.csv&features=" + edges + "/x.npz&",
		"edges:" + edges + "/edges.csv?labels=" + edges + "/labels.csv&features=" + edges + "/sets.json&lists=sets&",
	} {
		sameFeatures(t, spec, open(t, strings.TrimRight(spec, "?&")), want.Features, false)
		sameFeatures(t, spec, open(t, spec+"sparse=0"), want.Features, false)
		sameFeatures(t, spec, open(t, spec+"sparse=1"), want.Features, true)
		rows := open(t, spec+"normalize=row")
		sameFeatures(t, spec, open(t, spec+"normalize=row&sparse=1"), rows.Features, true)
	}
	expectError(t, "npy:"+filepath.Join(dir, "npy")+"?sparse=yes", "sparse=yes: want ")
	write(t, filepath.Join(dir, "scipy", "feat.npy"), npyFiles(t, d)["feat.npy"])
	expectError(t, "npy:"+filepath.Join(dir, "scipy"), "feat.npy and in feat.npz")
}

// Rows of a SciPy matrix may be unsorted and repeat columns; the values of a column add up.
func TestSciPyFeatures(t *testing.T) {
	d, dir := made(t, 10, 1), t.TempDir()
	d.Features = &graph.Features{Rows: 10, Cols: 3, Data: make([]float32, 30)}
	copy(d.Features.Data, []float32{0, 0.5, 3, 0, 0, 0, 7})
	writeFiles(t, dir, edgeFiles(d))
	spec := "edges:" + dir + "/edges.csv?labels=" + dir + "/labels.csv&features=" + dir + "/x.npz&sparse="
	ptr := []int64{0, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5}
	members := func(format []byte) map[string][]byte {
		m := map[string][]byte{
			"indptr": array(t, ptr), "indices": array(t, []int32{2, 1, 2, 2, 0}), "data": array(t, []float64{1, 0.5, 4, -2, 7}),
			"shape": array(t, []int64{10, 3}),
		}
		if format != nil {
			m["format"] = format
		}
		return m
	}
	text := func(s string) []byte {
		return fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n%s", "{'descr': '|S3', 'fortran_order': False, 'shape': ()}", s)
	}
	for _, format := range [][]byte{nil, text("csr")} {
		write(t, filepath.Join(dir, "x.npz"), archive(t, zip.Store, members(format)))
		for _, sparse := range []string{"0", "1"} {
			sameFeatures(t, "SciPy", open(t, spec+sparse), d.Features, sparse == "1")
		}
	}
	for want, change := range map[string]func(m map[string][]byte){
		`SciPy's format "csc"`:       func(m map[string][]byte) { m["format"] = text("csc") },
		`format "1", want csr`:       func(m map[string][]byte) { m["format"] = array(t, []int32{1}) },
		`no array "indptr"`:          func(m map[string][]byte) { delete(m, "indptr") },
		"CSR of 11 rows has 11":      func(m map[string][]byte) { m["shape"] = array(t, []int64{11, 3}) },
		"4 values for 5 columns":     func(m map[string][]byte) { m["data"] = array(t, make([]float32, 4)) },
		"outside [0, 2)":             func(m map[string][]byte) { m["shape"] = array(t, []int64{10, 2}) },
		"row 2, entry 4: value +Inf": func(m map[string][]byte) { m["data"] = array(t, []float64{1, 1, 1, 1, 1e300}) },
		"too sparse to learn from":   func(m map[string][]byte) { m["shape"] = array(t, []int64{10, 1 << 30}) },
	} {
		m := members(nil)
		change(m)
		write(t, filepath.Join(dir, "x.npz"), archive(t, zip.Store, m))
		expectError(t, spec+"1", want)
	}
	m := members(nil)
	m["shape"] = array(t, []int64{10, 1 << 23})
	write(t, filepath.Join(dir, "x.npz"), archive(t, zip.Store, m))
	if x := open(t, strings.TrimSuffix(spec, "&sparse=")).Features; x.Sparse == nil || x.Cols != 1<<23 {
		t.Errorf("10×2²³ features with 5 entries are %d×%d, sparse %v", x.Rows, x.Cols, x.Sparse != nil)
	}
}

// Large sparse features stay sparse without a key, and the data's lines say so.
func TestSparseByDefault(t *testing.T) {
	const n, cols = 6000, 3000 // 72 MB dense
	dir := t.TempDir()
	var edges, labels strings.Builder
	x := &graph.CSR{Rows: n, Cols: cols, Ptr: make([]int64, n+1), Idx: make([]int32, n)}
	for i := range n {
		fmt.Fprintf(&edges, "%d,%d\n", i, (i+1)%n)
		fmt.Fprintf(&labels, "%d\n", i%3)
		x.Idx[i], x.Ptr[i+1] = int32(i*7%cols), int64(i+1)
	}
	write(t, filepath.Join(dir, "x.npz"), sciPy(t, &graph.Features{Rows: n, Cols: cols, Sparse: x}))
	write(t, filepath.Join(dir, "e"), []byte(edges.String()))
	write(t, filepath.Join(dir, "l"), []byte(labels.String()))
	d := open(t, "edges:"+dir+"/e?labels="+dir+"/l&features="+dir+"/x.npz")
	if d.Features.Sparse == nil || d.Features.Sparse.Val != nil {
		t.Fatalf("features of %d bytes", d.Features.Bytes())
	}
	const want = "features sparse: 6000 of 6000×3000 values, 0.1 MB; dense they take 72.0 MB (sparse=0)"
	if lines := d.Changes(); !slices.Contains(lines, want) {
		t.Errorf("lines %q", lines)
	}
	if info := Describe(d); info.Bytes.Features != d.Features.Bytes() || !slices.Contains(info.Preprocessing, want) {
		t.Errorf("%+v", info)
	}
}

func TestSparseStore(t *testing.T) {
	dir := t.TempDir()
	for variant := range 16 {
		want := thinned(t, 10+31*variant, uint64(variant), variant)
		path := filepath.Join(dir, "made.store")
		if err := WriteStore(context.Background(), path, want); err != nil {
			t.Fatal(err)
		}
		if err := verify(context.Background(), "store:"+path, Options{}); err != nil {
			t.Error(err)
		}
		got := open(t, "store:"+path)
		sameData(t, got, want)
		again := filepath.Join(dir, "again.store")
		if err := WriteStore(context.Background(), again, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(readBytes(t, path), readBytes(t, again)) {
			t.Error("a copy of the store differs")
		}
		rows := open(t, "store:"+path+"?normalize=row&sparse=0") // the mapping is not written to
		sameFeatures(t, "normalize=row", open(t, "store:"+path+"?normalize=row"), rows.Features, true)
		sameFeatures(t, "sparse=0", open(t, "store:"+path+"?sparse=0"), want.Features, false)
		got.Features.Release()
		sameData(t, got, want)
	}
}

func TestSparseStoreDamaged(t *testing.T) {
	d := thinned(t, 40, 5, 0)
	good := readBytes(t, writeStoreFile(t, d))
	testDamage(t, good)
	path := filepath.Join(t.TempDir(), "bad.store")
	for want, change := range map[string]func(b []byte){
		"want ascending": func(b []byte) {
			i := 0
			for d.Features.Sparse.Degree(i) < 2 {
				i++
			}
			copy(arrayIn(t, b, "feat_indices")[4*d.Features.Sparse.Ptr[i]:], []byte{3, 0, 0, 0, 3, 0, 0, 0})
		},
		"decrease": func(b []byte) { arrayIn(t, b, "feat_indptr")[8*5] = 0 },
	} {
		b := slices.Clone(good)
		change(b)
		fixSums(b)
		write(t, path, b)
		if err := verify(context.Background(), "store:"+path, Options{}); !errors.Is(err, graph.ErrInvalid) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestConvertSparse(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	want := thinned(t, 50, 2, 0)
	source := "store:" + writeStoreFile(t, want)
	if _, err := Convert(ctx, source, filepath.Join(dir, "half.store"), Options{Half: true}); err == nil || !strings.Contains(err.Error(), "sparse=0") {
		t.Errorf("float16: %v", err)
	}
	half, err := Convert(ctx, source+"?sparse=0", filepath.Join(dir, "half.store"), Options{Half: true})
	if err != nil || open(t, half).Features.Half == nil {
		t.Errorf("dense in float16: %v", err)
	}
	// P·X is dense.
	propagated, err := Convert(ctx, source, filepath.Join(dir, "px.store"), Options{Propagated: true})
	if err != nil {
		t.Fatal(err)
	}
	dense, err := Convert(ctx, source+"?sparse=0", filepath.Join(dir, "dense.store"), Options{Propagated: true})
	if err != nil {
		t.Fatal(err)
	}
	got, other := open(t, propagated).Propagated.Data, open(t, dense).Propagated.Data
	for k, v := range got {
		if d := v - other[k]; d > 1e-6 || d < -1e-6 {
			t.Fatalf("P·X %d is %v, of dense features %v", k, v, other[k])
		}
	}
}

func FuzzSciPyFeatures(f *testing.F) {
	d := thinned(f, 12, 1, 0)
	edges, labels := arcLines(arcsOf(d, 7), ","), column(d.Labels.Class)
	f.Add(sciPy(f, d.Features))
	f.Add(sciPy(f, thinned(f, 12, 1, 1).Features))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "e"), []byte(edges))
		write(t, filepath.Join(dir, "l"), []byte(labels))
		write(t, filepath.Join(dir, "x.npz"), content)
		for _, form := range []string{"", "&sparse=1", "&sparse=0"} {
			tryOpen(t, "edges:"+dir+"/e?labels="+dir+"/l&features="+dir+"/x.npz"+form)
		}
	})
}
