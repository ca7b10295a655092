package datasets

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// path is a path of four nodes; its last edge names node 3.
const pathEdges = "0,1\n1,2\n2,3\n"

// edgeListFiles writes the files and returns their SPEC, with D for the folder.
func edgeListFiles(t *testing.T, files map[string]string) func(spec string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir+"/"+name, []byte(text))
	}
	return func(spec string) string {
		return "edges:" + strings.ReplaceAll(spec, "D", dir) + "&normalize=none&split=1/1/1"
	}
}

// Each file has its own header and separator.
func TestHeadersOfEachFile(t *testing.T) {
	edges := map[string]string{
		"none": pathEdges, "header": "from,to\n" + pathEdges, "tab": strings.ReplaceAll("p,q\n"+pathEdges, ",", "\t"),
		"space": strings.ReplaceAll(pathEdges, ",", " "), "semicolon": "# so\n\nfrom;to\n" + strings.ReplaceAll(pathEdges, ",", ";"),
		"blanks": strings.ReplaceAll(pathEdges, ",", ", "),
	}
	labels := map[string]string{
		"none": "4\n7\n4\n9\n", "header": "label\n4\n7\n4\n9\n", "pandas": "genre\n4\n7\n4\n9\n",
		"names": "b\nc\nb\nd\n", "names, header": "Class\nb\nc\nb\nd\n",
		"by id": "3,9\n0,4\n1,7\n2,4\n", "by id, header": "id,genre\n3,9\n0,4\n1,7\n2,4\n", "by id, tab": "node\tx\n3\t9\n0\t4\n1\t7\n2\t4\n",
		"by id, space": "3 9\n0 4\n1 7\n2 4\n",
	}
	features := map[string]string{
		"none": "1,2\n3,4\n5,6\n7,8\n", "header": "f,g\n1,2\n3,4\n5,6\n7,8\n", "tab": "f\tg\n1\t2\n3\t4\n5\t6\n7\t8\n",
		"by id": "id;0;1\n3;7;8\n0;1;2\n1;3;4\n2;5;6\n",
	}
	for e, edgeText := range edges {
		for l, labelText := range labels {
			for f, featureText := range features {
				in := edgeListFiles(t, map[string]string{"e": edgeText, "l": labelText, "f": featureText})
				keys := []string{""}
				if strings.Contains(edgeText, "o,t") {
					keys = append(keys, "&header=1")
				}
				for _, key := range keys {
					d := open(t, in("D/e?labels=D/l&features=D/f"+key))
					if d.Nodes() != 4 || d.Edges() != 3 || !cmp.Equal(d.Labels.Class, []int32{0, 1, 0, 2}) || !cmp.Equal(d.Features.Data, []float32{1, 2, 3, 4, 5, 6, 7, 8}) {
						t.Errorf("edges %s, labels %s, features %s%s: %d nodes, %d edges, classes %v, features %v", e, l, f, key, d.Nodes(), d.Edges(), d.Labels.Class, d.Features.Data)
					}
				}
			}
		}
	}
}

// The notes name the columns and their contents.
func TestNotesOfAnEdgeList(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "from\tto\n0\t1\n1\t2\n", "l": "# so\nid,kind\n0,a\n1,\n2,b\n", "f": "1\n2\n3\n"})
	notes := strings.Join(open(t, in("D/e?labels=D/l&features=D/f")).Notes, "\n")
	for _, want := range []string{
		`/e: ids in from and to; header in line 1: "from, to", separator tab`,
		`/l: ids in id, labels in kind; header in line 2: "id, kind", separator comma, 1 lines of comments`,
		`labels: nodes of each class: "a" 1, "b" 1, none 1`,
		`/f: rows in node order; column 1 numbers; no header, the first line is "1"`,
		`3 nodes, whose ids are numbers: 0 to 2`,
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes\n%s\nlack %q", notes, want)
		}
	}
}

// A line that can be a header or a label is an error, and the key decides.
func TestAmbiguousHeader(t *testing.T) {
	for name, c := range map[string]struct {
		labels    string
		zero, one []int32 // classes with labels-header=0 and =1; nil: an error
		unasked   []int32 // nil: an error
	}{
		"name that fits nowhere": {"x\nb\nc\nb\nd\n", []int32{3, 0, 1, 0, 2}, []int32{0, 1, 0, 2}, []int32{0, 1, 0, 2}},
		"name, one label short":  {"x\nb\nc\n", nil, nil, nil},
		"name, as many as nodes": {"x\nb\nc\nb\n", []int32{2, 0, 1, 0}, nil, []int32{2, 0, 1, 0}},
		"a 0 too much":           {"0\n1\n2\n1\n3\n", []int32{0, 1, 2, 1, 3}, []int32{0, 1, 0, 2}, nil},
		"a 0 as a class":         {"0\n1\n2\n1\n", []int32{0, 1, 2, 1}, nil, []int32{0, 1, 2, 1}},
		"a 0 before names":       {"0\nb\nc\nb\nd\n", []int32{0, 1, 2, 1, 3}, []int32{0, 1, 0, 2}, nil},
	} {
		in := edgeListFiles(t, map[string]string{"e": pathEdges, "l": c.labels})
		for key, want := range map[string][]int32{"": c.unasked, "&labels-header=0": c.zero, "&labels-header=1": c.one} {
			spec := in("D/e?labels=D/l" + key)
			switch {
			case want == nil && key == "":
				expectError(t, spec, "l:1:", "is a header, or data", "labels-header=1", "labels-header=0")
				continue
			case want == nil:
				expectError(t, spec, "l: ", "rows for 4 nodes", "labels-columns=ID")
				continue
			}
			if got := open(t, spec).Labels.Class; !cmp.Equal(got, want) {
				t.Errorf("%s%s: classes %v, want %v", name, key, got, want)
			}
		}
	}
}

// A first line of features 0, 1, 2, … is a header without names, or a row.
func TestNumberedFeatureHeader(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": pathEdges, "l": "1\n0\n1\n0\n", "five": "0,1\n1,2\n3,4\n5,6\n7,8\n", "four": "0,1\n3,4\n5,6\n7,8\n"})
	expectError(t, in("D/e?labels=D/l&features=D/five"), "five:1:", "is a header, or data", "features-header=1")
	for key, want := range map[string][]float32{
		"five&features-header=1": {1, 2, 3, 4, 5, 6, 7, 8}, "four": {0, 1, 3, 4, 5, 6, 7, 8},
	} {
		if got := open(t, in("D/e?labels=D/l&features=D/"+key)).Features.Data; !cmp.Equal(got, want) {
			t.Errorf("%s: %v, want %v", key, got, want)
		}
	}
}

// nan in any case, an empty cell and what unlabelled= names are no label. Labels that are
// numbers are sorted as numbers.
func TestMissingAndFractionalLabels(t *testing.T) {
	nan := float32(math.NaN())
	for name, labels := range map[string]string{
		"column": "10.0\nnan\n2.5\nNaN\n\"\"\n2.5\n", "by id": "0,10\n1,nan\n2,2.5\n3,NAN\n4,\n5,2.5\n", "minus one": "0,10\n1,-1\n2,2.5\n3,-1\n4, \n5,2.5\n",
	} {
		in := edgeListFiles(t, map[string]string{"e": "0,1\n1,2\n2,3\n3,4\n4,5\n", "l": labels})
		if got := open(t, in("D/e?unlabelled=-1&labels=D/l")).Labels; got.Classes != 2 || !cmp.Equal(got.Class, []int32{1, -1, 0, -1, -1, 0}) {
			t.Errorf("%s: %d classes, %v", name, got.Classes, got.Class)
		}
	}
	in := edgeListFiles(t, map[string]string{"e": pathEdges, "l": "0,1,\n1,nan,0\n2,0,0\n3,,1\n"})
	if got := open(t, in("D/e?labels=D/l")).Labels; !cmp.Equal(got.Multi, []float32{1, nan, nan, 0, 0, 0, nan, 1}, cmpopts.EquateNaNs()) {
		t.Errorf("tasks %v", got.Multi)
	}
	// The last node has neither an edge nor a label, and is there.
	in = edgeListFiles(t, map[string]string{"e": pathEdges, "l": "1\n0\n0\n1\nnan\n"})
	if got := open(t, in("D/e?labels=D/l")).Labels; !cmp.Equal(got.Class, []int32{1, 0, 0, 1, -1}) {
		t.Errorf("classes %v", got.Class)
	}
	d, dir := made(t, 12, 1), t.TempDir()
	texts := ogbTexts(d)
	texts["raw/node-label"] = "0,1\n,0\n" + strings.Repeat("1,nan\n", 10)
	writeTexts(t, dir, texts)
	if got := open(t, "ogb:"+dir).Labels.Multi[:6]; !cmp.Equal(got, []float32{0, 1, nan, 0, 1, nan}, cmpopts.EquateNaNs()) {
		t.Errorf("ogb tasks %v", got)
	}
}

func TestJSONLists(t *testing.T) {
	const ambiguous = "say lists=multi-hot (a 0 or 1 for each label or feature) or lists=sets"
	for _, c := range []struct {
		lists, key, err string
		want            []float32 // tasks of nodes 0 to 3
	}{
		{lists: `{"0": [0,0,1], "1": [1,0,0], "2": [0,0,0], "3": [0,1,1]}`, want: []float32{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1}},
		{lists: `{"0": [0,0,1], "1": [1,0,0], "2": [0,0,0], "3": [0,1,1]}`, key: "&lists=sets", want: []float32{1, 1, 1, 1, 1, 0, 1, 1}},
		{lists: `{"0": [0,1], "1": [1,0], "2": [0,1], "3": [1,0]}`, err: ambiguous},
		{lists: `{"0": [0,1], "1": [1,0], "2": [0,1], "3": [1,0]}`, key: "&lists=multi-hot", want: []float32{0, 1, 1, 0, 0, 1, 1, 0}},
		{lists: `{"0": [1], "1": [0], "2": [1], "3": [1]}`, err: ambiguous},
		{lists: `{"0": [1], "1": [0], "2": [1], "3": [1]}`, key: "&lists=sets", want: []float32{0, 1, 1, 0, 0, 1, 0, 1}},
		{lists: `{"0": [1,1], "1": [0,1], "2": [0,0], "3": [1,0]}`, want: []float32{1, 1, 0, 1, 0, 0, 1, 0}},
		{lists: `{"0": [1,0], "1": [0], "2": [], "3": [1]}`, want: []float32{1, 1, 1, 0, 0, 0, 0, 1}},
		{lists: `{"0": [3,0,0], "1": [0,0,2]}`, err: "node 0 has a number twice"},
		{lists: `{"0": [0,0,1], "1": [1,0]}`, key: "&lists=multi-hot", err: "node 1 has 2 numbers, the first node 3"},
		{lists: `{"0": [0,2], "1": [1,0]}`, key: "&lists=multi-hot", err: "node 0: lists=multi-hot, but the lists hold more than 0 and 1"},
	} {
		in := edgeListFiles(t, map[string]string{"e": pathEdges, "l.json": c.lists, "l.csv": "0\n1\n1\n0\n"})
		for _, spec := range []string{in("D/e?labels=D/l.json" + c.key), in("D/e?labels=D/l.csv&features=D/l.json" + c.key)} {
			if c.err != "" {
				expectError(t, spec, "l.json: ", c.err)
				continue
			}
			d := open(t, spec)
			got := d.Labels.Multi
			if d.Labels.Classes > 0 {
				got = d.Features.Data
			}
			if !cmp.Equal(got, c.want) {
				t.Errorf("%s%s: %v, want %v", c.lists, c.key, got, c.want)
			}
		}
	}
}

// Of several errors in a file, the first is reported every time.
func TestFirstErrorOfAFile(t *testing.T) {
	var text strings.Builder
	for i := range 400_000 { // several blocks
		fmt.Fprintf(&text, "%d,%d\n", i, i+1)
		if i%60_000 == 50_000 {
			fmt.Fprintf(&text, "%d\n", i)
		}
	}
	cut := zipped(t, text.String())
	in := edgeListFiles(t, map[string]string{"e": text.String(), "cut.gz": string(cut[:len(cut)-9]), "l": "0\n1\n"})
	for range 20 {
		expectError(t, in("D/e?labels=D/l"), `e:50002: "50000" has 1 fields, and the first line of data has 2; line 110003: "110000"`)
		expectError(t, in("D/cut.gz?labels=D/l"), `cut.gz:50002: "50000" has 1 fields`)
	}
}

// The key ids holds for all files, also if there are no edges.
func TestIDsWithoutEdges(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "# none\n", "l": "id,label\n1,4\n2,7\n3,9\n", "f": "1\n2\n3\n"})
	d := open(t, in("D/e?ids=from-1&labels=D/l&features=D/f"))
	if d.Nodes() != 3 || !cmp.Equal(d.Labels.Class, []int32{0, 1, 2}) || d.NodeNames.At(0) != "1" {
		t.Errorf("%d nodes of the classes %v, the first is %s", d.Nodes(), d.Labels.Class, d.NodeNames.At(0))
	}
}

// Comments before the edges may be longer than a block of lines.
func TestLongComments(t *testing.T) {
	comments := strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 2000)
	in := edgeListFiles(t, map[string]string{"e": comments + "ann,bob\nbob,cat\n", "l": "id,label\nann,0\nbob,1\ncat,0\n"})
	if d := open(t, in("D/e?labels=D/l")); d.Nodes() != 3 || d.Edges() != 2 {
		t.Errorf("%d nodes, %d edges", d.Nodes(), d.Edges())
	}
}

// Errors name a node by its id in the files.
func TestErrorsNameIDs(t *testing.T) {
	in := edgeListFiles(t, map[string]string{
		"e": "1,2\n2,3\n", "names": "ann,bob\nbob,cat\n", "one": "1 2\n", "gap": "9000000,9000001\n",
		"twice": "id,label\n1,0\n2,1\n2,0\n", "rows": "id,x\n1,5\n3,5\n3,6\n", "tasks": "id,a,b\n2,0,2\n3,0,1\n1,1,0\n",
		"names twice": "id,label\nann,0\nbob,1\nbob,0\n", "mixed.json": `{"1": 1, "3": [1]}`, "null.json": `{"bob": null}`,
	})
	for spec, want := range map[string]string{
		"D/e?ids=from-1&labels=D/twice":              "twice:4: node 2 is there again",
		"D/e?ids=from-1&features=D/rows":             "rows:4: node 3 is there again",
		"D/e?labels=D/twice&labels-columns=id,label": "twice:4: id: node 2 is there twice",
		"D/names?labels=D/names twice":               `names twice:`,
		"D/e?ids=from-1&labels=D/mixed.json":         `node 3: labels must all be lists or none`,
		"D/names?labels=D/null.json":                 `node "bob": label null`,
		"D/e?labels=D/tasks":                         `tasks:2: column 3 (b), node 2: "2", want 0, 1 or nothing`,
	} {
		expectError(t, in(spec), want)
	}
}
