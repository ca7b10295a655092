package formats

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

func npyBytes[T npy.Element](t testing.TB, values []T, shape ...int) []byte {
	t.Helper()
	if len(shape) == 0 {
		shape = []int{len(values)}
	}
	var b bytes.Buffer
	if err := npy.Write(&b, values, shape...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// otherOrder is a file of numbers of some bytes in the other byte order, columns first if it
// is a matrix: what numpy.save writes of np.asfortranarray(x.astype(">…")).
func otherOrder(t testing.TB, file []byte, width, rows, cols int) []byte {
	t.Helper()
	head, data := string(file[:len(file)-width*rows*cols]), file[len(file)-width*rows*cols:]
	head = strings.Replace(head, "'<", "'>", 1)
	head = strings.Replace(head, "False", "True ", 1)
	out := []byte(head)
	for j := range cols {
		for i := range rows {
			element := slices.Clone(data[(i*cols+j)*width : (i*cols+j+1)*width])
			slices.Reverse(element)
			out = append(out, element...)
		}
	}
	return out
}

func narrow[T, F int8 | uint8 | int32 | int64 | float32 | float64](values []F) []T {
	out := make([]T, len(values))
	for k, v := range values {
		out[k] = T(v)
	}
	return out
}

// folderOf writes the ring of 6 nodes as a folder of arrays, with other files in place of some.
func folderOf(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	all := map[string][]byte{
		"indptr.npy": npyBytes(t, []int64{0, 2, 4, 6, 8, 10, 12}), "indices.npy": npyBytes(t, []int32{1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4}),
		"feat.npy": npyBytes(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 6, 2), "labels.npy": npyBytes(t, []int64{0, 1, 2, 0, 1, -1}),
		"train.npy": npyBytes(t, []int64{0, 1, 2}), "valid.npy": npyBytes(t, []int64{3}), "test.npy": npyBytes(t, []int64{4}),
	}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if content != nil {
			write(t, filepath.Join(dir, name), content)
		}
	}
	return dir
}

func readFolder(t testing.TB, files map[string][]byte, o Options) *Set {
	t.Helper()
	o.Split = true
	d, err := NPYFolder(context.Background(), folderOf(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A mask may hold booleans or the numbers 0 and 1, of any type of integers. Numbers of
// nodes stay numbers of nodes.
func TestMasks(t *testing.T) {
	mask := []int64{1, 1, 1, 0, 0, 0}
	want := readFolder(t, nil, Options{}).Split
	for name, file := range map[string][]byte{
		"bool": npyBytes(t, []bool{true, true, true, false, false, false}), "int64": npyBytes(t, mask), "int32": npyBytes(t, narrow[int32](mask)),
		"uint8": npyBytes(t, narrow[uint8](mask)), "a column": npyBytes(t, mask, 6, 1), "big-endian": otherOrder(t, npyBytes(t, mask), 8, 6, 1),
	} {
		got := readFolder(t, map[string][]byte{"train.npy": file, "test.npy": npyBytes(t, []uint8{0, 0, 0, 0, 1, 0})}, Options{}).Split
		if !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := readFolder(t, map[string][]byte{"train.npy": npyBytes(t, []int64{1, 0})}, Options{}).Split[0]; !cmp.Equal(got, []int32{1, 0}) {
		t.Errorf("the nodes 1 and 0: %v", got)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"another number":   {npyBytes(t, []int64{1, 1, 1, 0, 0, 6}), "train.npy: element 5 is node 6, which is not in the graph of 6 nodes"},
		"too few booleans": {npyBytes(t, []bool{true, true}), "train.npy: 2 rows in node order for 6 nodes"},
		"floats":           {npyBytes(t, []float32{1, 1, 1, 0, 0, 0}), "train.npy: elements are <f4, want integers"},
	} {
		_, err := NPYFolder(context.Background(), folderOf(t, map[string][]byte{"train.npy": c.file}), Options{Split: true})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s: %v, want … %s", name, err, c.want)
		}
	}
}

// Every array of a folder may be big-endian, and a matrix columns first.
func TestBigEndianFolder(t *testing.T) {
	want := readFolder(t, map[string][]byte{"data.npy": npyBytes(t, slices.Repeat([]float64{0.5}, 12))}, Options{})
	got := readFolder(t, map[string][]byte{
		"indptr.npy":  otherOrder(t, npyBytes(t, []int64{0, 2, 4, 6, 8, 10, 12}), 8, 7, 1),
		"indices.npy": otherOrder(t, npyBytes(t, []int32{1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4}), 4, 12, 1),
		"data.npy":    otherOrder(t, npyBytes(t, slices.Repeat([]float64{0.5}, 12)), 8, 12, 1),
		"feat.npy":    otherOrder(t, npyBytes(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 6, 2), 4, 6, 2),
		"labels.npy":  otherOrder(t, npyBytes(t, []int64{0, 1, 2, 0, 1, -1}), 8, 6, 1),
		"train.npy":   otherOrder(t, npyBytes(t, []int64{0, 1, 2}), 8, 3, 1),
	}, Options{})
	for _, d := range []*Set{want, got} { // each names its own folder
		for k, note := range d.Notes {
			d.Notes[k] = regexp.MustCompile(`\S*/labels`).ReplaceAllString(note, "labels")
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(graph.Features{})); diff != "" {
		t.Error(diff)
	}
}

// Rule of labels in arrays: classes of whole numbers in integers or floats, with −1 and NaN
// unknown; −1 beside nothing but 1 is a class; rows with one 1 each are classes.
func TestLabelArrays(t *testing.T) {
	nan := math.NaN()
	hot := []int64{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}
	multi := slices.Clone(hot)
	multi[17], multi[16] = 1, 1
	tasks := func(values []int64) *graph.Labels { return &graph.Labels{Tasks: 3, Multi: narrow[float32](values)} }
	classes := &graph.Labels{Classes: 3, Class: []int32{0, 1, 2, 0, 1, -1}}
	signs := &graph.Labels{Classes: 2, Class: []int32{0, 1, 1, 0, 1, 0}, Names: []string{"-1", "1"}}
	six := &graph.Labels{Classes: 3, Class: []int32{0, 1, 2, 0, 1, 2}}
	const oneHotNote, signNote = "exactly one 1 each taken as classes", "2 kinds of labels"
	for name, c := range map[string]struct {
		file  []byte
		lists string
		want  *graph.Labels
		note  string
	}{
		"int64":             {npyBytes(t, []int64{0, 1, 2, 0, 1, -1}), "", classes, ""},
		"float64":           {npyBytes(t, []float64{0, 1, 2, 0, 1, -1}), "", classes, ""},
		"float32, NaN":      {npyBytes(t, []float32{0, 1, 2, 0, 1, float32(nan)}), "", classes, ""},
		"int64, a column":   {npyBytes(t, []int64{0, 1, 2, 0, 1, -1}, 6, 1), "", classes, ""},
		"−1 and 1":          {npyBytes(t, []int64{-1, 1, 1, -1, 1, -1}), "", signs, signNote},
		"−1 and 1, int32":   {npyBytes(t, []int32{-1, 1, 1, -1, 1, -1}), "", signs, signNote},
		"−1 and 1, float64": {npyBytes(t, []float64{-1, 1, 1, -1, 1, -1}), "", signs, signNote},
		"−1, 0 and 1":       {npyBytes(t, []int64{-1, 1, 0, 0, 1, -1}), "", &graph.Labels{Classes: 2, Class: []int32{-1, 1, 0, 0, 1, -1}}, ""},
		"1 alone":           {npyBytes(t, []int64{1, 1, 1, 1, 1, 1}), "", &graph.Labels{Classes: 2, Class: []int32{1, 1, 1, 1, 1, 1}}, "of one class"},
		"years":             {npyBytes(t, []int64{2010, 2011, 2012, 2010, 2011, 2012}), "", &graph.Labels{Classes: 2013, Class: []int32{2010, 2011, 2012, 2010, 2011, 2012}}, "labels up to 2012 are 2013 classes, and 3 of them have a node"},
		"one-hot int64":     {npyBytes(t, hot, 6, 3), "", six, oneHotNote},
		"one-hot uint8":     {npyBytes(t, narrow[uint8](hot), 6, 3), "", six, oneHotNote},
		"one-hot float64":   {npyBytes(t, narrow[float64](hot), 6, 3), "", six, oneHotNote},
		"one-hot, tasks":    {npyBytes(t, hot, 6, 3), "tasks", tasks(hot), ""},
		"multi-hot":         {npyBytes(t, multi, 6, 3), "", tasks(multi), ""},
		"one column":        {npyBytes(t, narrow[float32](hot[:6]), 6, 1), "", &graph.Labels{Tasks: 1, Multi: narrow[float32](hot[:6])}, ""},
	} {
		d := readFolder(t, map[string][]byte{"labels.npy": c.file}, Options{Keys: map[string]string{"lists": c.lists}})
		notes := strings.Join(d.Notes, "; ")
		if diff := cmp.Diff(c.want, d.Labels, cmpopts.EquateNaNs()); diff != "" || !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "taken as") {
			t.Errorf("%s: notes %q\n%s", name, notes, diff)
		}
	}
	numbered := readFolder(t, map[string][]byte{"labels.npy": npyBytes(t, []int64{-1, 1, 1, -1, 1, -1}), "classes.npy": []byte("\x93NUMPY\x01\x00\x39\x00{'descr': '|S1', 'fortran_order': False, 'shape': (2,), }ab")}, Options{})
	if want := (&graph.Labels{Classes: 2, Class: []int32{-1, 1, 1, -1, 1, -1}, Names: []string{"a", "b"}}); !cmp.Equal(numbered.Labels, want) {
		t.Errorf("−1 and 1 with names of classes: %+v", numbered.Labels)
	}
	if _, err := NPYFolder(context.Background(), folderOf(t, nil), Options{Keys: map[string]string{"lists": "sets"}}); err == nil || !strings.Contains(err.Error(), "lists=sets: want tasks") {
		t.Errorf("lists=sets: %v", err)
	}
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"fractions":   {npyBytes(t, []float64{0, 1, 0.5, 0, 1, 2}), "labels.npy: label of node 2 is 0.5, want a whole number from 0, the class, or -1 for unknown"},
		"large":       {npyBytes(t, []float64{0, 1, 1e30, 0, 1, 2}), "label of node 2 is 1e+30"},
		"negative":    {npyBytes(t, []int64{0, 1, -2, 0, 1, 2}), "label of node 2 is -2"},
		"other tasks": {npyBytes(t, []int64{0, 2, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 6, 3), "label of node 0, task 1 is 2"},
		"nothing":     {npyBytes(t, []float32{-1, float32(nan), -1, -1, -1, -1}), "no labels"},
	} {
		if _, err := NPYFolder(context.Background(), folderOf(t, map[string][]byte{"labels.npy": c.file}), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want … %s", name, err, c.want)
		}
	}
}

// Planetoid's files are read in all protocols of today's Python. testdata/planetoid.zip has
// been made by Python 3.11, NumPy 1.24 and SciPy 1.10:
//
//	X = sp.csr_matrix(np.array([[i % 3 == j for j in range(4)] for i in range(8)], dtype=np.float32) * 1.5)
//	Y = np.eye(3, dtype=np.int32)[[0, 1, 2, 0, 1, 2, 0, 1]]; Y[4] = 0
//	g = collections.defaultdict(list)
//	for i in range(8): g[i] = [(i + 1) % 8, np.int64((i + 7) % 8)]
//	test = [6, 5, 7]
//	{"x": X[:3], "y": Y[:3], "allx": X[:5], "ally": Y[:5], "tx": sp.csr_array(X[test]),
//	 "ty": np.asfortranarray(Y[test].astype(">i8")), "graph": g}
func TestPlanetoidProtocols(t *testing.T) {
	z, err := zip.OpenReader("testdata/planetoid.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	for protocol := range 6 {
		d, err := Planetoid(context.Background(), filepath.Join(dir, fmt.Sprint("p", protocol), "made"), Options{Split: true})
		if err != nil {
			t.Errorf("protocol %d: %v", protocol, err)
			continue
		}
		if want := []int32{0, 1, 2, 0, -1, 2, 0, 1}; !cmp.Equal(d.Labels.Class, want) || d.Labels.Classes != 3 {
			t.Errorf("protocol %d: labels %v, want %v", protocol, d.Labels.Class, want)
		}
		if want := (&Split{{0, 1, 2}, {3}, {5, 6, 7}}); !cmp.Equal(d.Split, want) {
			t.Errorf("protocol %d: split %v", protocol, d.Split)
		}
		x := d.Features.Float32s()
		for k, v := range x {
			if want := float32(1.5); (k%4 == k/4%3) != (v == want) || v != 0 && v != want {
				t.Errorf("protocol %d: feature %d of node %d is %v", protocol, k%4, k/4, v)
			}
		}
		if d.nodes() != 8 || d.Graph.NNZ() != 16 || !cmp.Equal(d.Graph.Row(0), []int32{1, 7}) {
			t.Errorf("protocol %d: %d nodes, %d entries", protocol, d.nodes(), d.Graph.NNZ())
		}
	}
}

// TestPlanetoidWithoutState reads an object of SciPy's type that has no attributes.
func TestPlanetoidWithoutState(t *testing.T) {
	z, err := zip.OpenReader("testdata/planetoid.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p2", "ind.made.tx"), []byte("\x80\x02cscipy.sparse._csr\ncsr_matrix\n)\x81."), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Planetoid(context.Background(), filepath.Join(dir, "p2", "made"), Options{}); err == nil || !strings.Contains(err.Error(), "ind.made.tx: not a SciPy CSR matrix") {
		t.Errorf("error %v", err)
	}
}

// sageSet writes GraphSAGE's files of three nodes with these ids, and the links 0–1 of the
// first member of "links" on.
func sageSet(t testing.TB, ids []string, links string) string {
	t.Helper()
	dir := t.TempDir()
	var nodes, rows, classes []string
	for k, id := range ids {
		nodes = append(nodes, fmt.Sprintf(`{"id": %s, "val": false, "test": false}`, id))
		key := `"` + strings.Trim(id, `"`) + `"`
		rows, classes = append(rows, fmt.Sprintf("%s: %d", key, k)), append(classes, fmt.Sprintf("%s: %d", key, k%2))
	}
	write(t, filepath.Join(dir, "g-G.json"), []byte(`{"directed": false, "nodes": [`+strings.Join(nodes, ", ")+`], `+links+`}`))
	write(t, filepath.Join(dir, "g-id_map.json"), []byte("{"+strings.Join(rows, ", ")+"}"))
	write(t, filepath.Join(dir, "g-class_map.json"), []byte("{"+strings.Join(classes, ", ")+"}"))
	return filepath.Join(dir, "g")
}

// Links are ids, as networkx 2 and later write them, or places, as networkx 1 did. Where
// both are possible and differ, the key links says which.
func TestSAGELinks(t *testing.T) {
	const path = `"links": [{"source": 1, "target": 2}]`
	for name, c := range map[string]struct {
		ids   []string
		links string
		key   string
		want  [2]int32 // the edge, by places of its nodes
		fails string
	}{
		"ids are places":            {[]string{"0", "1", "2"}, path, "", [2]int32{1, 2}, ""},
		"ids from 1, with the last": {[]string{"1", "2", "3"}, `"links": [{"source": 1, "target": 3}]`, "", [2]int32{0, 2}, ""},
		"ids from 1, without":       {[]string{"1", "2", "3"}, path, "", [2]int32{}, "links=ids"},
		"permuted":                  {[]string{"2", "0", "1"}, path, "", [2]int32{}, "links=ids"},
		"permuted, ids":             {[]string{"2", "0", "1"}, path, "ids", [2]int32{2, 0}, ""},
		"permuted, order":           {[]string{"2", "0", "1"}, path, "order", [2]int32{1, 2}, ""},
		"permuted, edges":           {[]string{"2", "0", "1"}, strings.Replace(path, "links", "edges", 1), "", [2]int32{2, 0}, ""},
		"edges, order":              {[]string{"2", "0", "1"}, strings.Replace(path, "links", "edges", 1), "order", [2]int32{1, 2}, ""},
		"a fixed part":              {[]string{"2", "1", "0"}, `"links": [{"source": 1, "target": 1}]`, "", [2]int32{}, ""},
		"ids with gaps":             {[]string{"10", "20", "30"}, `"links": [{"source": 30, "target": 10}]`, "", [2]int32{2, 0}, ""},
		"gaps, places":              {[]string{"10", "20", "30"}, path, "", [2]int32{1, 2}, ""},
		"large ids":                 {[]string{"5000000000", "7", "8"}, `"links": [{"source": 5000000000, "target": 8}]`, "", [2]int32{0, 2}, ""},
		"texts, places":             {[]string{`"a"`, `"b"`, `"c"`}, path, "", [2]int32{1, 2}, ""},
		"texts":                     {[]string{`"a"`, `"b"`, `"c"`}, `"links": [{"source": "c", "target": "a"}]`, "", [2]int32{2, 0}, ""},
		"texts of digits":           {[]string{`"2"`, `"0"`, `"1"`}, path, "", [2]int32{1, 2}, ""},
		"neither":                   {[]string{"10", "20", "30"}, `"links": [{"source": 10, "target": 1}]`, "", [2]int32{}, `link 0 joins "10" and "1": want two of the 3 nodes`},
		"an unknown id":             {[]string{"10", "20", "30"}, path, "ids", [2]int32{}, `link 0 joins "1" and "2": want two of the 3 nodes`},
	} {
		d, err := SAGE(context.Background(), sageSet(t, c.ids, c.links), Options{Keys: map[string]string{"links": c.key}})
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(err.Error(), "g-G.json: ") {
				t.Errorf("%s: %v, want %s", name, err, c.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want []int32
		if c.want[0] != c.want[1] {
			want = []int32{c.want[1]}
		}
		if got := d.Graph.Row(int(c.want[0])); !slices.Equal(got, want) || d.Graph.NNZ() != int64(2*len(want)) {
			t.Errorf("%s: node %d has the neighbours %v, want %v", name, c.want[0], got, want)
		}
	}
}

// A matrix that declares more rows than the memory holds is an error before it is made.
func TestGiantMatrix(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, values := range map[string][]int64{"row": {0}, "col": {1}, "shape": {math.MaxInt32, math.MaxInt32}} {
		w, err := z.Create(name + ".npy")
		if err == nil {
			err = npy.Write(w, values, len(values))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "giant.npz")
	write(t, path, b.Bytes())
	if memory.Limit() > 40*math.MaxInt32 {
		t.Skip("this machine can hold it")
	}
	_, err := readSet(context.Background(), "", Options{}, func(r *reader) { r.archive(path).sciPyGraph("") })
	if err == nil || !strings.Contains(err.Error(), "a graph of 2147483647 nodes would take") {
		t.Error(err)
	}
}

// OGB's binary layout in big-endian numbers gives the same data set.
func TestOGBBinaryByteOrder(t *testing.T) {
	const n, edges = 700, 300_000
	index, feat, label := make([]int64, 2*edges), make([]float32, n*3), make([]float32, n)
	for k := range index {
		index[k] = int64(k*k%n+k) % n
	}
	for k := range feat {
		feat[k] = float32(k) / 8
	}
	label[5], label[6] = float32(math.NaN()), 1
	var sets []*Set
	for _, big := range []bool{false, true} {
		dir := t.TempDir()
		arrays := map[string][]byte{
			"edge_index": npyBytes(t, index, 2, edges), "node_feat": npyBytes(t, feat, n, 3), "num_nodes_list": npyBytes(t, []int64{n}), "num_edges_list": npyBytes(t, []int64{edges}),
		}
		if big {
			for key, width := range map[string]int{"edge_index": 8, "node_feat": 4} {
				file := arrays[key]
				at := 10 + int(binary.LittleEndian.Uint16(file[8:]))
				copy(file[:at], strings.Replace(string(file[:at]), "'<", "'>", 1))
				for number := range slices.Chunk(file[at:], width) {
					slices.Reverse(number)
				}
			}
		}
		for file, members := range map[string]map[string][]byte{"data.npz": arrays, "node-label.npz": {"node_label": npyBytes(t, label, n, 1)}} {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			for key, content := range members {
				w, err := z.Create(key + ".npy")
				if err == nil {
					_, err = w.Write(content)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(dir, "raw"), 0o777); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "raw", file), b.Bytes())
		}
		d, err := OGB(context.Background(), dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, d)
	}
	if diff := cmp.Diff(sets[0], sets[1], cmpopts.EquateNaNs()); diff != "" || sets[0].Report.Given != edges || sets[0].Labels.Class[5] != -1 {
		t.Errorf("%+v\n%.1000s", sets[0].Report, diff)
	}
}
