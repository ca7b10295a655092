package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/gzip"

	"github.com/gcn-layerwise/gcn/graph"
)

// The layouts of single tools: GraphSAINT, GraphSAGE, DGL's Reddit, edge lists.

func TestRoundTripsOfTools(t *testing.T) {
	for seed := range uint64(3) {
		n := 12 + int(seed)*41
		t.Run("saint", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, saintFiles(t, d))
			sameNumbers(t, open(t, "saint:"+dir+"?normalize=none&metric=accuracy"), d)
		})
		t.Run("dgl-reddit", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, dglRedditFiles(t, d))
			sameNumbers(t, open(t, "dgl-reddit:"+dir+"?metric=accuracy"), d)
		})
		t.Run("sage", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, sageFiles(t, d))
			got := open(t, "sage:"+dir+"/made?normalize=none&metric=accuracy")
			if got.NodeNames.Len() != n || got.NodeNames.At(3) != "n3" {
				t.Errorf("names of nodes %q", namesOf(got))
			}
			got.NodeNames = nil
			sameNumbers(t, got, d)
			if !strings.Contains(strings.Join(got.Notes, "; "), "1 nodes without the marks") {
				t.Errorf("notes %q do not mention the dropped node", got.Notes)
			}
		})
		t.Run("edges", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, edgeFiles(d))
			got := open(t, "edges:"+dir+"/edges.csv?normalize=none&features="+dir+"/features.csv&labels="+dir+"/labels.csv")
			d.Split = got.Split
			sameNumbers(t, got, d)
		})
	}
}

func sameNumbers(t *testing.T, got, want *Data) {
	t.Helper()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	sameData(t, got, want)
}

// Every way to write an edge list's files gives the same data.
func TestEdgeListForms(t *testing.T) {
	d, dir := made(t, 30, 4), t.TempDir()
	files := edgeFiles(d)
	var named, numbered, jsonNames, features strings.Builder
	named.WriteString("id\tkind\n")
	jsonNames.WriteString("{")
	features.WriteString("node_id\ta\tb\tc\td\n")
	for k := range 30 {
		i := (k*7 + 2) % 30 // "cat" comes first
		name := [...]string{"ant", "bee", "cat"}[d.Labels.Class[i]]
		fmt.Fprintf(&named, "%d\t%s\n", i, name)
		fmt.Fprintf(&numbered, "%d,%d\n", i, d.Labels.Class[i])
		fmt.Fprintf(&jsonNames, "\"%d\": %q,", i, name)
		fmt.Fprintf(&features, "%d\t%s", i, strings.ReplaceAll(matrixLines(d.Features.Row(i), 4), ",", "\t"))
	}
	files["named.tsv"] = []byte(named.String())
	files["numbered.csv.gz"] = zipped(t, numbered.String())
	files["names.json"] = []byte(strings.TrimSuffix(jsonNames.String(), ",") + "}")
	files["features.tsv"] = []byte(features.String())
	files["edges.tsv"] = []byte("# a comment\nfrom\tto\n" + arcLines(arcsOf(d, 7), "\t"))
	files["spaces.txt"] = []byte(arcLines(arcsOf(d, 7), " "))
	writeFiles(t, dir, files)
	for _, form := range []string{
		"edges.csv?features=D/features.csv&labels=D/numbered.csv.gz",
		"edges.csv?features=D/features.csv&labels=D/names.json",
		"edges.tsv?header=1&features=D/features.tsv&labels=D/named.tsv",
	} {
		got := open(t, "edges:"+dir+"/"+strings.ReplaceAll(form, "D/", dir+"/")+"&normalize=none")
		d.Split, d.Labels.Names = got.Split, nil
		if strings.Contains(form, "name") {
			d.Labels.Names = []string{"ant", "bee", "cat"}
		}
		sameNumbers(t, got, d)
	}
	got := open(t, "edges:"+dir+"/spaces.txt?sep=space&features=degree&labels="+dir+"/names.json")
	if !cmp.Equal(got.Graph, d.Graph) {
		t.Error("edges split by spaces give another graph")
	}
	for i := range 30 {
		if want := []float32{1, float32(math.Log1p(float64(d.Graph.Degree(i))))}; !cmp.Equal(got.Features.Row(i), want) {
			t.Errorf("node %d has features %v, want %v", i, got.Features.Row(i), want)
		}
	}
}

// Comments and the quotes of CSV change no data, before, between and after the lines of
// all files.
func TestEdgeListComments(t *testing.T) {
	const edges, features = "0,1\n1,2\n2,3\n", "1,2\n3,4\n5,6\n7,8\n"
	commented := func(text string) string {
		return "# comment, one\n" + strings.ReplaceAll(text, "\n", "\n#\n#, comment\r\n") + "\n\n# end"
	}
	for name, labels := range map[string]string{
		"column":   "a\nb\nnan\na\n",
		"by id":    "3,a\n0,a\n1,b\n",
		"tasks":    "3,0,1\n0,1,1\n1,0,0\n",
		"quoted":   "\"a\"\n\"b\"\nnan\na\n",
		"quoted 2": "\"3\",\"a\"\n\"0\",\"a\"\n\"1\",b\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			plain := strings.ReplaceAll(labels, "\"", "")
			writeFiles(t, dir, map[string][]byte{
				"e": []byte(edges), "f": []byte(features), "l": []byte(plain),
				"ec": []byte(commented("\"0\",\"1\"\n1,2\n2,3\n")), "fc": []byte(commented("\"1\",2\n3,4\n5,6\n7,8\n")), "lc": []byte(commented(labels)),
				"mark": []byte("\ufeff" + commented(labels)),
				"he":   []byte("from,to\n" + edges), "hl": []byte("name" + ",x,y,z"[:2*strings.Count(plain[:strings.Index(plain, "\n")], ",")] + "\n" + commented(labels)), "hf": []byte("a,b\n" + commented(features)),
			})
			in := func(spec string) string { return "edges:" + strings.ReplaceAll(spec, "D", dir) + "&split=1/1/1" }
			want := open(t, in("D/e?labels=D/l&features=D/f"))
			for _, spec := range []string{
				"D/ec?comments=1&labels=D/lc&features=D/fc", "D/ec?comments=1&labels=D/mark&features=D/f", "D/he?comments=1&labels=D/hl&features=D/hf&header=1&labels-header=1",
			} {
				got := open(t, in(spec))
				if got.Labels.Tasks > 0 {
					got.Labels.Names = nil // one of the files has a header
				}
				sameNumbers(t, got, want)
			}
		})
	}
}

// A label file of several blocks is numbered without its comments.
func TestLongLabelColumn(t *testing.T) {
	const n = 300_000
	dir := t.TempDir()
	var edges, labels, gap strings.Builder
	for i := range n {
		fmt.Fprintf(&edges, "%d,%d\n", i, (i+1)%n)
		fmt.Fprintf(&labels, "# node %d\n%d\n", i, i*i%7)
		fmt.Fprintf(&gap, "%d\n", i*i%7)
		if i == 1000 {
			gap.WriteString("\n")
		}
	}
	writeFiles(t, dir, map[string][]byte{"e": []byte(edges.String()), "l": []byte(labels.String()), "gap": []byte(gap.String()), "only": []byte(strings.Repeat("\n", 1<<20+5) + "1\n")})
	d := open(t, "edges:"+dir+"/e?comments=1&labels="+dir+"/l")
	kinds := map[int]int32{0: 0, 1: 1, 2: 2, 4: 3} // the squares modulo 7, in order
	for i, c := range d.Labels.Class {
		if c != kinds[i*i%7] {
			t.Fatalf("node %d has class %d, want %d", i, c, kinds[i*i%7])
		}
	}
	expectError(t, "edges:"+dir+"/e?labels="+dir+"/gap", "gap:1002: an empty line among rows in node order")
	expectError(t, "edges:"+dir+"/e?labels="+dir+"/only", "only: 1 rows for 300000 nodes")
}

func TestWeightedEdgeList(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{
		"w.csv": []byte("a,b,weight\n0,1,0.5\n# so\n1,2, 2e1\n2,1,7\n\n1,1,3\n0,3,1\r\n"),
		"l.csv": []byte("0\n1\n0\n1\n"),
	})
	keys := "header=1&comments=1&split=1/1/1&labels=" + dir + "/l.csv"
	d := open(t, "edges:"+dir+"/w.csv?weights=1&"+keys)
	want := &graph.CSR{Rows: 4, Cols: 4, Ptr: []int64{0, 2, 4, 5, 6}, Idx: []int32{1, 3, 0, 2, 1, 0}, Val: []float32{0.5, 1, 0.5, 20, 20, 1}}
	if !cmp.Equal(d.Graph, want) {
		t.Errorf("graph %+v, want %+v", d.Graph, want)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	for line, message := range map[string]string{
		"0,1":         `w.csv:2: "0,1" has 2 fields, and the first line of data has 3`,
		",x,1":        "a: an empty id",
		"0,1,0":       `weight "0", want a positive number`,
		"0,1,-2":      "want a positive number",
		"0,1,NaN":     "want a positive number",
		"0,1,+Inf":    "want a positive number",
		"0,1,1e39":    "want a positive number",
		"0,1,1e-9999": "want a positive number",
		"0,1,":        `weight ""`,
		"0,1,2,3":     `"0,1,2,3" has 4 fields, and the first line of data has 3`,
	} {
		write(t, filepath.Join(dir, "w.csv"), []byte("a,b,weight\n"+line+"\n"))
		if _, err := Open(context.Background(), "edges:"+dir+"/w.csv?weights=1&"+keys, Options{}); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v, want … %s …", line, err, message)
		}
	}
	write(t, filepath.Join(dir, "w.csv"), []byte("0,1,0.5\n"))
	if _, err := Open(context.Background(), "edges:"+dir+"/w.csv?labels="+dir+"/l.csv", Options{}); err == nil || !strings.Contains(err.Error(), "column 3 can be weights: weights=1 reads them, weights=0 leaves them out") {
		t.Errorf("three columns unasked: %v", err)
	}
}

func TestEdgeListTasks(t *testing.T) {
	dir := t.TempDir()
	nan := float32(math.NaN())
	writeFiles(t, dir, map[string][]byte{
		"e.csv":      []byte("0,1\n1,2\n3,4\n"),
		"lists.json": []byte(`{"0": ["x", "a"], "2": ["a"], "3": [], "4": ["b"]}`),
		"tasks.csv":  []byte("0,1,0,1\n2,1,0,0\n3,0,0,0\n4,0,1,0\n"),
		"hot.json":   []byte(`{"0": [2], "4": [0, 1]}`),
	})
	want := []float32{1, 0, 1, nan, nan, nan, 1, 0, 0, 0, 0, 0, 0, 1, 0}
	for _, file := range []string{"lists.json", "tasks.csv"} {
		got := open(t, "edges:"+dir+"/e.csv?labels="+dir+"/"+file+"&features="+dir+"/hot.json&metric=micro-f1&split=1/1/1")
		if diff := cmp.Diff(want, got.Labels.Multi, cmpopts.EquateNaNs()); diff != "" || got.Labels.Tasks != 3 || got.Metric != MicroF1 {
			t.Errorf("%s: %d tasks, metric %s: %s", file, got.Labels.Tasks, got.Metric, diff)
		}
		if want := []float32{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0}; !cmp.Equal(got.Features.Data, want) {
			t.Errorf("%s: features %v", file, got.Features.Data)
		}
		total := len(got.Split.Train) + len(got.Split.Valid) + len(got.Split.Test)
		if total != 4 {
			t.Errorf("%s: %d nodes in the split, want the 4 labelled ones", file, total)
		}
	}
}

func TestSAINTTasks(t *testing.T) {
	d, dir := made(t, 12, 1), t.TempDir()
	files := saintFiles(t, d)
	var text strings.Builder
	for i := range 12 {
		fmt.Fprintf(&text, ", \"%d\": [%d, %d]", i, i%2, i%3%2)
	}
	files["class_map.json"] = []byte("{" + text.String()[2:] + "}")
	writeFiles(t, dir, files)
	got := open(t, "saint:"+dir)
	if got.Labels.Tasks != 2 || got.Metric != MicroF1 || !cmp.Equal(got.Labels.Multi[:6], []float32{0, 0, 1, 1, 0, 0}) {
		t.Errorf("labels %+v, metric %s", got.Labels, got.Metric)
	}
	// Standardised: mean 0 and deviation 1 over the training nodes.
	for j := range got.Features.Cols {
		var sum, squares float64
		for _, i := range got.Split.Train {
			v := float64(got.Features.Row(int(i))[j])
			sum += v
			squares += v * v
		}
		n := float64(len(got.Split.Train))
		if math.Abs(sum/n) > 1e-6 || math.Abs(squares/n-1) > 1e-5 {
			t.Errorf("feature %d has mean %v, mean square %v", j, sum/n, squares/n)
		}
	}
}

// Worked by hand: training values 1 and 3 have mean 2 and deviation 1; a
// constant feature becomes 0.
func TestStandardize(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	for i := range 20 {
		copy(d.Features.Row(i), []float32{7, 5, float32(i), 0})
	}
	d.Split = Split{Train: []int32{1, 3}, Valid: []int32{4}, Test: []int32{5}}
	writeFiles(t, dir, npyFiles(t, d))
	got := open(t, "npy:"+dir+"?normalize=standardize")
	if want := []float32{0, 0, 3, 0}; !cmp.Equal(got.Features.Row(5), want) {
		t.Errorf("row 5 is %v, want %v", got.Features.Row(5), want)
	}
}

func TestDeezer(t *testing.T) {
	dir := shared + "deezer-ro/"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("real files are not here: %v", err)
	}
	d := open(t, "edges:"+dir+"RO_edges.csv?header=1&labels="+dir+"RO_genres.json")
	got := Describe(d)
	if got.Nodes != 41_773 || got.Edges != 125_826 || got.Tasks != 84 {
		t.Errorf("got %+v", got)
	}
	var genres float64
	for _, v := range d.Labels.Multi {
		genres += float64(v)
	}
	if mean := genres / 41_773; math.Abs(mean-6.04) > 0.005 {
		t.Errorf("%v genres a node, want 6.04", mean)
	}
}

func TestBadEdgeList(t *testing.T) {
	for name, c := range map[string]struct {
		file, content, keys, want string
	}{
		"no labels key":     {"", "", "", "no labels, which training needs (labels=FILE)"},
		"missing labels":    {"", "", "?labels=D/none.csv", "none.csv: no such file"},
		"header denied":     {"edges.csv", "a,b\n0,1\n", "?labels=D/labels.csv&header=0", "are texts that give no order"},
		"second header":     {"edges.csv", "a,b\nc,d\n0,1\n", "?labels=D/labels.csv", `edges.csv:1: "a, b" is a header, or data`},
		"header alone":      {"labels.csv", "id,kind\n", "?labels=D/labels.csv&labels-columns=id,kind", "labels.csv: it holds no data after the header"},
		"half a header":     {"features.csv", "1,x\n2,3\n", "?labels=D/labels.csv&features=D/features.csv", "no column of features is left"},
		"three fields":      {"edges.csv", "0,1\n1,2,0.5\n", "?labels=D/labels.csv", `edges.csv:2: "1,2,0.5" has 3 fields, and the first line of data has 2`},
		"far id":            {"edges.csv", "0,2000000000\n", "?labels=D/labels.csv", "the ids, 0, 2000000000, are numbers that give no order"},
		"id too large":      {"edges.csv", "0,4294967296\n", "?labels=D/labels.csv", "numbers that give no order"},
		"separator unknown": {"", "", "?labels=D/labels.csv&sep=pipe", "sep=pipe: want comma, tab, space, semicolon"},
		"header neither":    {"", "", "?labels=D/labels.csv&header=yes", "header=yes: want 0, 1"},
		"infinite feature":  {"features.csv", strings.Repeat("1,2\n", 13) + "1e39,1\n", "?labels=D/labels.csv&features=D/features.csv", `features.csv:14: column 1: "1e39" is not a finite number`},
		"rows missing":      {"features.csv", "1.5,2\n", "?labels=D/labels.csv&features=D/features.csv", "features.csv: 1 rows for 14 nodes"},
		"ragged":            {"features.csv", "1,2\n3\n", "?labels=D/labels.csv&features=D/features.csv", `features.csv:2: "3" has 1 fields, and the first line of data has 2`},
		"empty label line":  {"labels.csv", "a\nb\n\na\n", "?labels=D/labels.csv", "labels.csv:3: an empty line among rows in node order"},
		"empty row":         {"features.csv", "1.5,2\n\n3,4\n", "?labels=D/labels.csv&features=D/features.csv", "features.csv:2: an empty line among rows in node order"},
		"only comments":     {"labels.csv", "# a\n# b\n", "?labels=D/labels.csv", "labels.csv: it holds no data"},
		"JSON list":         {"l.json", "[1]", "?labels=D/l.json", `l.json: byte 1, "": "[" where "{" should be`},
		"JSON cut short":    {"l.json", `{"0": 1, "1"`, "?labels=D/l.json", `l.json: byte 12, node 1: unexpected EOF`},
		"JSON key":          {"l.json", `{"x": 1}`, "?labels=D/l.json", `none of its ids has an edge in `},
		"JSON label":        {"l.json", `{"0": {}}`, "?labels=D/l.json", `node 0: label {} is neither`},
		"JSON slash":        {"l.json", `{"a.b/c": null}`, "?labels=D/l.json", `node "a.b/c": label null is neither`},
		"JSON fraction":     {"l.json", `{"0": 0.5}`, "?labels=D/l.json", "label 0.5 is neither a name nor an integer"},
		"JSON mixture":      {"l.json", `{"0": 1, "1": [1]}`, "?labels=D/l.json", `node 1: labels must all be lists or none`},
		"JSON -1, list":     {"l.json", `{"0": -1, "1": [1]}`, "?labels=D/l.json", `node 1: labels must all be lists or none`},
		"features -1, list": {"f.json", `{"9": -1, "0": [1]}`, "?labels=D/labels.csv&features=D/f.json", `node 0: labels must all be lists or none`},
		"JSON twice":        {"l.json", `{"0": 1, "0": 2}`, "?labels=D/l.json", `duplicate object member name`},
		"JSON of letters":   {"l.json", `{"0": [1, 2], "1": [1, 2x]}`, "?labels=D/l.json", `l.json: byte 17, node 1: invalid character 'x' after array element`},
		"JSON null":         {"l.json", `{"0": null}`, "?labels=D/l.json", `l.json: byte 10, node 0: label null is neither`},
		"JSON null in list": {"l.json", `{"0": [1, null]}`, "?labels=D/l.json", `node 0: label null is neither`},
		"JSON twice, -1":    {"l.json", `{"0": -1, "1": 1, "0": 2}`, "?labels=D/l.json", `l.json: byte 16, node 0: duplicate object member name`},
		"features twice":    {"f.json", `{"0": [1], "3": [0], "0": [2]}`, "?labels=D/labels.csv&features=D/f.json", `f.json: byte 19, node 0: duplicate object member name`},
		"labels twice, -1":  {"labels.csv", "0,-1\n1,1\n0,2\n", "?labels=D/labels.csv", "labels.csv: 3 rows for 14 nodes"},
		"mark within":       {"labels.csv", "a\nb\n\ufeffa\n" + strings.Repeat("a\n", 11), "?labels=D/labels.csv", "a byte-order mark within the file"},
		"JSON goes on":      {"l.json", `{"0": 1} 3`, "?labels=D/l.json", "more after the object"},
		"JSON empty":        {"l.json", `{}`, "?labels=D/l.json", "l.json: no labels"},
		"label id":          {"labels.csv", "0,1\nx,1\n", "?labels=D/labels.csv", `no other file has its ids "x"`},
		"task of two":       {"labels.csv", "0,1,2\n", "?labels=D/labels.csv", `labels.csv:1: column 3, node 0: "2", want 0, 1 or nothing`},
		"metric unknown":    {"", "", "?labels=D/labels.csv&metric=f1", `metric "f1"`},
		"metric misfit":     {"", "", "?labels=D/labels.csv&metric=rocauc", `metric "rocauc" does not fit`},
		"normalize unknown": {"", "", "?labels=D/labels.csv&normalize=l2", "normalize=l2: want none, row, standardize"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, d := t.TempDir(), made(t, 14, 1)
			files := edgeFiles(d)
			if c.file != "" {
				files[c.file] = []byte(c.content)
			}
			writeFiles(t, dir, files)
			expectError(t, "edges:"+dir+"/edges.csv"+strings.ReplaceAll(c.keys, "D/", dir+"/"), c.want)
		})
	}
}

func TestBadTools(t *testing.T) {
	type files = map[string][]byte
	for name, c := range map[string]struct {
		spec   string // D is the folder
		make   func(d *Data) files
		change func(f files, d *Data)
		want   string
	}{
		"saint: no roles": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { delete(f, "role.json") }, "role.json: no such file"},
		"saint: role out of range": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"tr": [0, 14]}`) }, `"/tr/1": "14" where a whole number in [0, 14) should be`},
		"saint: role unknown": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"train": [0]}`) }, `key "train", want tr, va or te`},
		"saint: nothing to train on": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"va": [0]}`) }, "the training set is empty"},
		"saint: class out of range": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"0": -1}`) }, "class_map.json: no labels"},
		"saint: lists differ": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"0": [1, 0], "1": [1]}`) }, `node 1 has 1 numbers, the first node 2`},
		"saint: node out of range": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"14": 1}`) }, "node 14 is not in the graph of 14 nodes"},
		"saint: not a matrix": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) {
				f["adj_full.npz"] = archive(t, zip.Store, without(sciPyMembers(t, d), "indices"))
			}, `no array "indices"; it holds data, indptr, shape`},
		"dgl-reddit: part of the split": {"dgl-reddit:D", func(d *Data) files { return dglRedditFiles(t, d) },
			func(f files, d *Data) {
				f["reddit_data.npz"] = archive(t, zip.Store, map[string][]byte{
					"feature": array(t, d.Features.Data, 14, 4), "label": array(t, d.Labels.Class), "node_types": array(t, make([]int64, 14))})
			}, "node_types: node 0 is of type 0, want 1, 2 or 3"},
		"dgl-reddit: entry out of range": {"dgl-reddit:D", func(d *Data) files { return dglRedditFiles(t, d) },
			func(f files, d *Data) {
				f["reddit_graph.npz"] = archive(t, zip.Store, map[string][]byte{
					"row": array(t, []int64{0, 14}), "col": array(t, []int64{1, 0}), "shape": array(t, []int64{14, 14})})
			}, "reddit_graph.npz: element 1: graph: edge (14, 0) outside [0, 14)"},
		"dgl-reddit: column out of range": {"dgl-reddit:D", func(d *Data) files { return dglRedditFiles(t, d) },
			func(f files, d *Data) {
				f["reddit_graph.npz"] = archive(t, zip.Store, map[string][]byte{
					"row": array(t, []int64{0, 13}), "col": array(t, []int64{1, -1}), "shape": array(t, []int64{14, 14})})
			}, "reddit_graph.npz: element 1: graph: edge (13, -1) outside [0, 14)"},
		"dgl-reddit: weight of an entry": {"dgl-reddit:D?weights=1", func(d *Data) files { return dglRedditFiles(t, d) },
			func(f files, d *Data) {
				f["reddit_graph.npz"] = archive(t, zip.Store, map[string][]byte{
					"row": array(t, []int64{0, 13}), "col": array(t, []int64{1, 2}), "data": array(t, []float32{1, 0}), "shape": array(t, []int64{14, 14})})
			}, "reddit_graph.npz: element 1: graph: edge (13, 2) has weight 0, want positive and finite"},
		"dgl-reddit: rows and columns": {"dgl-reddit:D", func(d *Data) files { return dglRedditFiles(t, d) },
			func(f files, d *Data) {
				f["reddit_graph.npz"] = archive(t, zip.Store, map[string][]byte{
					"row": array(t, []int64{0}), "col": array(t, []int64{1, 0}), "shape": array(t, []int64{14, 14})})
			}, "1 rows, 2 columns"},
		"saint: null class": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"0": 1, "1": null}`) }, `class_map.json: byte 18, node 1: label null is neither a name nor an integer`},
		"saint: null task": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"0": [1, null]}`) }, `class_map.json: byte 15, node 0: label null is neither a name nor an integer`},
		"saint: class twice": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["class_map.json"] = []byte(`{"0": 1, "0": 1}`) }, `class_map.json: byte 7, node 0: duplicate object member name`},
		"saint: null role": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"tr": [0], "va": null, "te": [2]}`) }, `role.json: byte 22, "/va": "null" where "[" should be`},
		"saint: null node": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"tr": [1, null], "va": [], "te": []}`) }, `role.json: byte 15, "/tr/1": "null" where a whole number in [0, 14) should be`},
		"saint: role twice": {"saint:D", func(d *Data) files { return saintFiles(t, d) },
			func(f files, d *Data) { f["role.json"] = []byte(`{"tr": [0], "tr": [1]}`) }, `role.json: byte 10, "/tr": duplicate object member name`},
		"sage: null row": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-id_map.json"] = []byte(`{"n1": 3, "n2": null}`) }, `made-id_map.json: byte 20, node "n2": "null" where a whole number in`},
		"sage: two rows": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-id_map.json"] = []byte(`{"n1": 3, "n1": 4}`) }, `made-id_map.json: byte 8, node "n1": duplicate object member name`},
		"sage: null mark": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) {
				f["made-G.json"] = []byte(`{"nodes": [{"id": 1, "val": null, "test": false}]}`)
			}, `made-G.json: no node has the marks val and test`},
		"sage: mark of another kind": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-G.json"] = []byte(`{"nodes": [{"id": 1, "val": 0, "test": []}]}`) }, `"/nodes/0": json: …unmarshal JSON number`},
		"sage: null id": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-G.json"] = []byte(`{"nodes": [{"id": null}]}`) }, `"/nodes/0": an id is neither a name nor a whole number`},
		"sage: null nodes": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-G.json"] = []byte(`{"nodes": null}`) }, `made-G.json: byte 14, "/nodes": "null" where "[" should be`},
		"sage: nodes twice": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-G.json"] = []byte(`{"nodes": [], "nodes": []}`) }, `duplicate object member name`},
		"sage: null source": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-G.json"] = []byte(`{"links": [{"source": null, "target": 3}]}`) }, `"/links/0": an id is neither`},
		"sage: no marks": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) {
				f["made-G.json"] = bytes.ReplaceAll(f["made-G.json"], []byte(`"val"`), []byte(`"vul"`))
			}, "no node has the marks val and test"},
		"sage: link out of range": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) {
				f["made-G.json"] = bytes.Replace(f["made-G.json"], []byte(`"links": [`), []byte(`"links": [{"source": 15, "target": 0}, `), 1)
			}, `link 0 joins "15" and "0": want two of the 15 nodes`},
		"sage: link to nobody": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) {
				f["made-G.json"] = bytes.Replace(f["made-G.json"], []byte(`"links": [`), []byte(`"links": [{"source": "n1", "target": "x"}, `), 1)
			}, `link 0 joins "n1" and "x": want two of the 15 nodes`},
		"sage: node twice": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) {
				f["made-G.json"] = bytes.Replace(f["made-G.json"], []byte(`"n1"`), []byte(`"n2"`), 1)
			}, `id "n2" is there twice`},
		"sage: no row": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-id_map.json"] = []byte(`{"n1": 3}`) }, "no row for node"},
		"sage: row twice": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-id_map.json"] = []byte(`{"n1": 3, "n2": 3}`) }, "row 3 is there twice"},
		"sage: features short": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-feats.npy"] = array(t, d.Features.Data, 14, 4) }, "no row 14 among 14"},
		"sage: stranger": {"sage:D/made", func(d *Data) files { return sageFiles(t, d) },
			func(f files, d *Data) { f["made-class_map.json"] = []byte(`{"zz": 3}`) }, `node "zz" is not in the graph of `},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := made(t, 14, 1), t.TempDir()
			f := c.make(d)
			c.change(f, d)
			writeFiles(t, dir, f)
			parts := strings.Split(c.want, "…") // the JSON package says "cannot" or "unable to" there, at random
			expectError(t, strings.Replace(c.spec, "D", dir, 1), append(parts, filepath.Base(dir))...)
		})
	}
}

// A UTF-8 byte-order mark is not part of the first field of any text; marks of
// other encodings are errors.
func TestByteOrderMark(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	d := made(t, 20, 1)
	edges := edgeFiles(d)
	var named, features strings.Builder
	features.WriteString("id,a,b,c,d\n")
	for i := 19; i >= 0; i-- {
		fmt.Fprintf(&features, "%d,%s", i, matrixLines(d.Features.Row(i), 4))
	}
	for i := range 20 {
		named.WriteString([]string{"ant", "bee", "cat"}[d.Labels.Class[i]] + "\n")
	}
	edges["named.csv"], edges["byid.csv"] = []byte(named.String()), []byte(features.String())
	edges["labels.json"] = []byte(jsonClasses(d.Labels.Class))
	edges["headed.csv"] = append([]byte("kind\n"), edges["labels.csv"]...)
	edges["from.csv"] = append([]byte("from,to\n"), edges["edges.csv"]...)
	ogb := map[string][]byte{}
	for name, text := range ogbTexts(d) {
		ogb[name+".csv.gz"] = zipped(t, text)
	}
	gzipped := func(content []byte) bool { return bytes.HasPrefix(content, []byte{0x1f, 0x8b}) }
	for _, c := range []struct {
		spec  string // D is the folder
		files map[string][]byte
	}{
		{"edges:D/edges.csv?ids=from-0&labels=D/named.csv&features=D/features.csv", edges},
		{"edges:D/from.csv?labels=D/headed.csv&features=D/byid.csv&header=1&ids=from-0", edges},
		{"edges:D/edges.csv?ids=from-0&labels=D/labels.json&features=D/features.csv", edges},
		{"ogb:D", ogb},
		{"planetoid:D/made", planetoidFiles(t, d)},
		{"saint:D", saintFiles(t, d)},
		{"sage:D/made", sageFiles(t, d)},
	} {
		dir := t.TempDir()
		writeFiles(t, dir, c.files)
		spec := strings.ReplaceAll(c.spec, "D/", dir+"/")
		if strings.HasSuffix(spec, ":D") {
			spec = strings.TrimSuffix(spec, "D") + dir
		}
		want := open(t, spec)
		for name, content := range c.files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			text := content
			if gzipped(content) {
				text = unzipped(t, content)
			}
			if !utf8.Valid(text) || strings.HasSuffix(name, ".npy") || bytes.HasPrefix(text, []byte{0x80, 2}) {
				continue
			}
			encode := func(text []byte) []byte {
				if gzipped(content) {
					return zipped(t, string(text))
				}
				return text
			}
			write(t, path, encode(append([]byte(mark), text...)))
			got := open(t, spec)
			sameNumbers(t, got, want)
			if strings.HasPrefix(c.spec, "edges:") && !strings.Contains(c.spec, name) {
				continue // this SPEC does not read it
			}
			for _, other := range []string{"\xff\xfe1\x00", "\xfe\xff\x001"} {
				write(t, path, encode(append([]byte(other), text...)))
				expectError(t, spec, path, "UTF-16", `encoding="utf-16"`)
			}
			write(t, path, content)
		}
	}
}

func unzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
