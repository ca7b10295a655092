package datasets

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/synth"
)

// The tests write small data sets in each layout themselves, as the layouts'
// own tools would, and read them back.

// made returns a random data set of n ≥ 10 nodes and 3 classes whose features
// have few digits, so that text holds them exactly.
func made(t testing.TB, n int, seed uint64) *Data {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	b, err := graph.NewBuilder(n)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * n {
		if err := b.Add(random.Int32N(int32(n)), random.Int32N(int32(n))); err != nil {
			t.Fatal(err)
		}
	}
	d := &Data{Name: "made", Metric: Accuracy}
	d.Graph, _ = b.Build()
	d.Features = &graph.Features{Rows: n, Cols: 4, Data: make([]float32, 4*n)}
	for k := range d.Features.Data {
		d.Features.Data[k] = float32(random.IntN(9)-4) / 4
	}
	d.Labels = &graph.Labels{Classes: 3, Class: make([]int32, n)}
	for i := range d.Labels.Class {
		d.Labels.Class[i] = int32(i % 3)
	}
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	parts := synth.RandomSplit(all, n/2, n/4, random)
	d.Split = Split{parts[0], parts[1], parts[2]}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

// arcsOf returns every edge once, in an order and direction of the generator's
// choice, with some repeated in reverse and some self-loops.
func arcsOf(d *Data, seed uint64) []graph.Edge {
	random := rand.New(rand.NewPCG(seed, 8))
	var arcs []graph.Edge
	for i := range int32(d.Nodes()) {
		for _, j := range d.Graph.Row(int(i)) {
			if i < j {
				a := graph.Edge{U: i, V: j}
				if random.IntN(2) == 0 {
					a = graph.Edge{U: j, V: i}
				}
				arcs = append(arcs, a)
				if random.IntN(4) == 0 {
					arcs = append(arcs, graph.Edge{U: a.V, V: a.U})
				}
			}
		}
		if random.IntN(5) == 0 {
			arcs = append(arcs, graph.Edge{U: i, V: i})
		}
	}
	random.Shuffle(len(arcs), func(i, j int) { arcs[i], arcs[j] = arcs[j], arcs[i] })
	return arcs
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
}

func array[T npy.Element](t testing.TB, values []T, shape ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	if len(shape) == 0 {
		shape = []int{len(values)}
	}
	if err := npy.Write(&b, values, shape...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func archive(t testing.TB, method uint16, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
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
	return b.Bytes()
}

func widen(v []int32) []int64 {
	w := make([]int64, len(v))
	for k, x := range v {
		w[k] = int64(x)
	}
	return w
}

// npyFiles returns the files of npy:DIR.
func npyFiles(t testing.TB, d *Data) map[string][]byte {
	return map[string][]byte{
		"indptr.npy":  array(t, d.Graph.Ptr),
		"indices.npy": array(t, d.Graph.Idx),
		"feat.npy":    array(t, d.Features.Data, d.Features.Rows, d.Features.Cols),
		"labels.npy":  array(t, widen(d.Labels.Class)),
		"train.npy":   array(t, widen(d.Split.Train)),
		"valid.npy":   array(t, widen(d.Split.Valid)),
		"test.npy":    array(t, widen(d.Split.Test)),
	}
}

// benchmarkMembers returns the members of gnn-benchmark's npz, with sparse
// features.
func benchmarkMembers(t testing.TB, d *Data) map[string][]byte {
	n := int64(d.Nodes())
	lists := make([][]int32, n)
	for _, a := range arcsOf(d, 1) {
		lists[a.U] = append(lists[a.U], a.V)
	}
	ptr, idx := []int64{0}, []int32{}
	for _, l := range lists {
		slices.Sort(l)
		l = slices.Compact(l)
		idx = append(idx, l...)
		ptr = append(ptr, int64(len(idx)))
	}
	attrPtr, attrIdx, attr := sparseOf(d.Features)
	return map[string][]byte{
		"adj_indptr": array(t, ptr), "adj_indices": array(t, idx),
		"adj_data": array(t, make([]float32, len(idx))), "adj_shape": array(t, []int64{n, n}),
		"attr_indptr": array(t, attrPtr), "attr_indices": array(t, attrIdx), "attr_data": array(t, attr),
		"attr_shape": array(t, []int64{n, int64(d.Features.Cols)}),
		"labels":     array(t, d.Labels.Class),
	}
}

func sparseOf(x *graph.Features) (ptr []int64, idx []int32, values []float32) {
	ptr = []int64{0}
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			if v != 0 {
				idx = append(idx, int32(j))
				values = append(values, v)
			}
		}
		ptr = append(ptr, int64(len(idx)))
	}
	return ptr, idx, values
}

// heterophilousMembers returns the members of the heterophilous layout with two
// splits, the second being d's.
func heterophilousMembers(t testing.TB, d *Data) map[string][]byte {
	n := d.Nodes()
	var ends []int64
	for _, a := range arcsOf(d, 2) {
		ends = append(ends, int64(a.U), int64(a.V))
	}
	mask := func(ids []int32, other int32) []byte {
		m := make([]bool, 2*n)
		m[other] = true
		for _, id := range ids {
			m[n+int(id)] = true
		}
		return array(t, m, 2, n)
	}
	return map[string][]byte{
		"node_features": array(t, d.Features.Data, n, d.Features.Cols),
		"node_labels":   array(t, widen(d.Labels.Class)),
		"edges":         array(t, ends, len(ends)/2, 2),
		"train_masks":   mask(d.Split.Train, 0),
		"val_masks":     mask(d.Split.Valid, 1),
		"test_masks":    mask(d.Split.Test, 2),
	}
}

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func column(ids []int32) string {
	var s strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&s, id)
	}
	return s.String()
}

func arcLines(arcs []graph.Edge, sep string) string {
	var s strings.Builder
	for _, a := range arcs {
		fmt.Fprintf(&s, "%d%s%d\n", a.U, sep, a.V)
	}
	return s.String()
}

func matrixLines(values []float32, cols int) string {
	var s strings.Builder
	for k, v := range values {
		s.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32))
		if (k+1)%cols == 0 {
			s.WriteByte('\n')
		} else {
			s.WriteByte(',')
		}
	}
	return s.String()
}

// ogbTexts returns the files of ogb:DIR before compression, without the ending
// .csv.gz.
func ogbTexts(d *Data) map[string]string {
	return map[string]string{
		"raw/num-node-list":    fmt.Sprintln(d.Nodes()),
		"raw/edge":             arcLines(arcsOf(d, 3), ","),
		"raw/node-feat":        matrixLines(d.Features.Data, d.Features.Cols),
		"raw/node-label":       column(d.Labels.Class),
		"split/sometime/train": column(d.Split.Train),
		"split/sometime/valid": column(d.Split.Valid),
		"split/sometime/test":  column(d.Split.Test),
	}
}

func writeTexts(t testing.TB, dir string, texts map[string]string) {
	for name, text := range texts {
		write(t, filepath.Join(dir, filepath.FromSlash(name)+".csv.gz"), zipped(t, text))
	}
}

// pickler writes protocol 2, as Python 2's cPickle did for Planetoid.
type pickler struct{ bytes.Buffer }

func newPickler() *pickler {
	p := &pickler{}
	p.WriteString("\x80\x02")
	return p
}

func (p *pickler) class(module, name string) { p.WriteString("c" + module + "\n" + name + "\n") }

func (p *pickler) integer(v int) {
	p.WriteByte('J')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(int32(v))))
}

func (p *pickler) text(s string) {
	p.WriteByte('T')
	p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	p.WriteString(s)
}

func (p *pickler) tuple(ints ...int) {
	p.WriteByte('(')
	for _, v := range ints {
		p.integer(v)
	}
	p.WriteByte('t')
}

func (p *pickler) array(kind string, data []byte, shape ...int) {
	p.class("numpy.core.multiarray", "_reconstruct")
	p.WriteByte('(')
	p.class("numpy", "ndarray")
	p.tuple(0)
	p.WriteString("U\x01btR(K\x01")
	p.tuple(shape...)
	p.class("numpy", "dtype")
	p.WriteString("(U\x02" + kind + "K\x00K\x01tR(K\x03U\x01<NNN")
	p.integer(-1)
	p.integer(-1)
	p.WriteString("K\x00tb\x89")
	p.text(string(data))
	p.WriteString("tb")
}

func (p *pickler) end() []byte {
	p.WriteByte('.')
	return p.Bytes()
}

func little[T int32 | float32](values []T) []byte {
	var b []byte
	for _, v := range values {
		switch v := any(v).(type) {
		case int32:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case float32:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return b
}

// matrixPickle returns a pickled csr_matrix.
func matrixPickle(x *graph.Features) []byte {
	ptr, idx, values := sparseOf(x)
	narrow := make([]int32, len(ptr))
	for k, at := range ptr {
		narrow[k] = int32(at)
	}
	p := newPickler()
	p.class("scipy.sparse.csr", "csr_matrix")
	p.WriteString(")\x81}(")
	p.text("_shape")
	p.tuple(x.Rows, x.Cols)
	p.text("maxprint")
	p.integer(50)
	p.text("data")
	p.array("f4", little(values), len(values))
	p.text("indices")
	p.array("i4", little(idx), len(idx))
	p.text("indptr")
	p.array("i4", little(narrow), len(narrow))
	p.WriteString("ub")
	return p.end()
}

// oneHotPickle returns a pickled ndarray.
func oneHotPickle(classes []int32, width int) []byte {
	hot := make([]int32, len(classes)*width)
	for i, c := range classes {
		if c >= 0 {
			hot[i*width+int(c)] = 1
		}
	}
	p := newPickler()
	p.array("i4", little(hot), len(classes), width)
	return p.end()
}

// graphPickle returns a pickled defaultdict(list).
func graphPickle(n int, arcs []graph.Edge) []byte {
	lists := make([][]int32, n)
	for _, a := range arcs {
		lists[a.U] = append(lists[a.U], a.V)
	}
	p := newPickler()
	p.class("collections", "defaultdict")
	p.WriteByte('(')
	p.class("__builtin__", "list")
	p.WriteString("tR(")
	for i, list := range lists {
		p.integer(i)
		p.WriteString("](")
		for _, j := range list {
			p.integer(int(j))
		}
		p.WriteByte('e')
	}
	p.WriteByte('u')
	return p.end()
}

// planetoidFiles returns the files ind.made.*: the first rows of d in allx, the
// last quarter in tx, in shuffled order, without the nodes in missing, whose
// features and labels are cleared in d. The split of d becomes the public one.
func planetoidFiles(t testing.TB, d *Data, missing ...int32) map[string][]byte {
	n := d.Nodes()
	first := n - n/4
	var test []int32
	for i := int32(first); i < int32(n); i++ {
		if !slices.Contains(missing, i) {
			test = append(test, i)
		}
	}
	rand.New(rand.NewPCG(4, 4)).Shuffle(len(test), func(i, j int) { test[i], test[j] = test[j], test[i] })
	for _, i := range missing {
		clear(d.Features.Row(int(i)))
		d.Labels.Class[i] = -1
	}
	rows := func(ids []int32) (*graph.Features, []int32) {
		x := &graph.Features{Rows: len(ids), Cols: d.Features.Cols}
		var y []int32
		for _, i := range ids {
			x.Data = append(x.Data, d.Features.Row(int(i))...)
			y = append(y, d.Labels.Class[i])
		}
		return x, y
	}
	upTo := func(n int) []int32 {
		ids := make([]int32, n)
		for i := range ids {
			ids[i] = int32(i)
		}
		return ids
	}
	train := n / 4
	d.Split = Split{Train: upTo(train), Valid: upTo(first)[train:min(train+500, first)], Test: slices.Sorted(slices.Values(test))}
	x, y := rows(upTo(train))
	allx, ally := rows(upTo(first))
	tx, ty := rows(test)
	files := map[string][]byte{
		"x": matrixPickle(x), "allx": matrixPickle(allx), "tx": matrixPickle(tx),
		"y": oneHotPickle(y, 3), "ally": oneHotPickle(ally, 3), "ty": oneHotPickle(ty, 3),
		"graph": graphPickle(n, arcsOf(d, 5)), "test.index": []byte(column(test)),
	}
	named := make(map[string][]byte)
	for part, content := range files {
		named["ind.made."+part] = content
	}
	return named
}

func writeFiles(t testing.TB, dir string, files map[string][]byte) {
	for name, content := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), content)
	}
}

// sciPyMembers returns the members of a saved CSR matrix that holds both
// directions of every edge, unsorted.
func sciPyMembers(t testing.TB, d *Data) map[string][]byte {
	n := int64(d.Nodes())
	idx := slices.Clone(d.Graph.Idx)
	for i := range d.Nodes() {
		slices.Reverse(idx[d.Graph.Ptr[i]:d.Graph.Ptr[i+1]])
	}
	return map[string][]byte{
		"indptr": array(t, d.Graph.Ptr), "indices": array(t, idx), "data": array(t, make([]bool, len(idx))),
		"shape": array(t, []int64{n, n}),
	}
}

func jsonIDs(ids []int32) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ", ")
}

func jsonClasses(classes []int32) string {
	parts := make([]string, len(classes))
	for i, c := range classes {
		parts[i] = fmt.Sprintf("\"%d\": %d", i, c)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// saintFiles returns the files of saint:DIR.
func saintFiles(t testing.TB, d *Data) map[string][]byte {
	return map[string][]byte{
		"adj_full.npz":   archive(t, zip.Store, sciPyMembers(t, d)),
		"feats.npy":      array(t, d.Features.Data, d.Features.Rows, d.Features.Cols),
		"class_map.json": []byte(jsonClasses(d.Labels.Class)),
		"role.json":      fmt.Appendf(nil, `{"tr": %s, "va": %s, "te": %s}`, jsonIDs(d.Split.Train), jsonIDs(d.Split.Valid), jsonIDs(d.Split.Test)),
	}
}

// dglRedditFiles returns the files of dgl-reddit:DIR; the split of d is put in
// order and covers all nodes.
func dglRedditFiles(t testing.TB, d *Data) map[string][]byte {
	n := d.Nodes()
	var rows, cols []int32
	for i := range n {
		for _, j := range d.Graph.Row(i) {
			rows, cols = append(rows, j), append(cols, int32(i))
		}
	}
	kinds := make([]int64, n)
	for p, ids := range d.Split.parts() {
		slices.Sort(*ids)
		for _, i := range *ids {
			kinds[i] = int64(p + 1)
		}
	}
	return map[string][]byte{
		"reddit_graph.npz": archive(t, zip.Deflate, map[string][]byte{
			"row": array(t, rows), "col": array(t, cols), "data": array(t, make([]int64, len(rows))), "shape": array(t, []int64{int64(n), int64(n)}),
		}),
		"reddit_data.npz": archive(t, zip.Deflate, map[string][]byte{
			"feature": array(t, d.Features.Data, n, d.Features.Cols), "label": array(t, widen(d.Labels.Class)), "node_types": array(t, kinds),
		}),
	}
}

// sageFiles returns the files of sage:DIR/made: nodes named "n0" …, listed
// backward, with one more that lacks its marks, and rows in d's order.
func sageFiles(t testing.TB, d *Data) map[string][]byte {
	n := d.Nodes()
	part := make([]int, n)
	for p, ids := range d.Split.parts() {
		slices.Sort(*ids)
		for _, i := range *ids {
			part[i] = p
		}
	}
	var nodes, rows, classes, links []string
	for i := n - 1; i >= 0; i-- {
		nodes = append(nodes, fmt.Sprintf(`{"_id": 1, "id": "n%d", "val": %v, "test": %v, "other": [1]}`, i, part[i] == 1, part[i] == 2))
		rows = append(rows, fmt.Sprintf(`"n%d": %d`, i, i+1)) // row 0 is the dropped node's
		classes = append(classes, fmt.Sprintf(`"n%d": %d`, i, d.Labels.Class[i]))
	}
	nodes = append(nodes, `{"id": "unmarked"}`)
	rows, classes = append(rows, `"unmarked": 0`), append(classes, `"unmarked": 7`)
	place := func(i int32) int { return n - 1 - int(i) }
	for _, a := range arcsOf(d, 6) {
		links = append(links, fmt.Sprintf(`{"source": %d, "target": %d, "train_removed": false}`, place(a.U), place(a.V)))
	}
	links = append(links, fmt.Sprintf(`{"source": %d, "target": 0}`, n))
	list := func(parts []string) string { return strings.Join(parts, ",\n") }
	return map[string][]byte{
		"made-G.json": fmt.Appendf(nil, `{"directed": false, "graph": {"name": "made"}, "nodes": [%s], "links": [%s], "multigraph": false}`,
			list(nodes), list(links)),
		"made-id_map.json":    []byte("{" + list(rows) + "}"),
		"made-class_map.json": []byte("{" + list(classes) + "}"),
		"made-feats.npy":      array(t, append(make([]float32, d.Features.Cols), d.Features.Data...), n+1, d.Features.Cols),
	}
}

// edgeFiles returns the files of edges:edges.csv with features and labels.
func edgeFiles(d *Data) map[string][]byte {
	return map[string][]byte{
		"edges.csv":    []byte(arcLines(arcsOf(d, 7), ",")),
		"features.csv": []byte(matrixLines(d.Features.Data, d.Features.Cols)),
		"labels.csv":   []byte(column(d.Labels.Class)),
	}
}

// oneTask turns classes 0 and 1, −1 unknown, into a binary task.
func oneTask(classes []int32) *graph.Labels {
	y := &graph.Labels{Tasks: 1, Multi: make([]float32, len(classes))}
	for i, c := range classes {
		y.Multi[i] = float32(c)
		if c < 0 {
			y.Multi[i] = float32(math.NaN())
		}
	}
	return y
}

// writeErr writes a file.
func writeErr(path, text string) error { return os.WriteFile(path, []byte(text), 0o666) }

// isMissing tells whether nothing is at path.
func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// verify opens data whose stores are read and checked whole, and closes them.
func verify(ctx context.Context, spec string, o Options) error {
	o.Verify = true
	d, err := Open(ctx, spec, o)
	return cmp.Or(err, d.Close())
}
