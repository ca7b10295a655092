package datasets

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// namesOf returns the names of all nodes.
func namesOf(d *Data) []string {
	var names []string
	for i := range d.Nodes() {
		names = append(names, d.NodeNames.At(i))
	}
	return names
}

// edgesOf returns the edges as pairs of names, each once, as "a-b".
func edgesOf(d *Data) map[string]bool {
	edges := map[string]bool{}
	for i := range d.Nodes() {
		for _, j := range d.Graph.Row(i) {
			a, b := d.NodeNames.At(i), d.NodeNames.At(int(j))
			edges[min(a, b)+"-"+max(a, b)] = true
		}
	}
	return edges
}

// Names of nodes are found in edge lists of all separators, with and without headers, and
// join the labels and features of other files.
func TestNodeNames(t *testing.T) {
	labels := "id,kind\nbob,x\nann,y\ncyd,x\n"
	features := "cyd,3,30\nann,1,10\nbob,2,20\n"
	for name, edges := range map[string]string{
		"comma": "ann,bob\nbob,cyd\n", "tab": "ann\tbob\nbob\tcyd\n", "header": "source,target\nann,bob\nbob,cyd\n",
		"networkx": "# made\nann bob {}\nbob cyd {}\n", "networkx, weights": "ann bob {'weight': 2.0, 'since': 'x, y'}\nbob cyd {'weight': 1}\n",
		"networkx, data=False": "ann bob\nbob cyd\n", "odd header": "ann's,friend's\nann,bob\nbob,cyd\n", "quotes": "\"ann\",\"bob\"\n\"bob\",\"cyd\"\n",
		"pandas": "a,b,weight\nann,bob,2\nbob,cyd,1\n", "more columns": "source;since;weight;target\n",
	} {
		key := ""
		switch name {
		case "more columns":
			continue
		case "networkx, weights", "pandas":
			key = "&weights=1"
		}
		if name == "odd header" || name == "pandas" {
			key += "&header=1"
		}
		in := edgeListFiles(t, map[string]string{"e": edges, "l": labels, "f": features})
		d := open(t, in("D/e?labels=D/l&features=D/f"+key))
		if !cmp.Equal(namesOf(d), []string{"ann", "bob", "cyd"}) || !cmp.Equal(edgesOf(d), map[string]bool{"ann-bob": true, "bob-cyd": true}) {
			t.Errorf("%s: nodes %q, edges %v", name, namesOf(d), edgesOf(d))
		}
		if !cmp.Equal(d.Labels.Class, []int32{1, 0, 0}) || !cmp.Equal(d.Labels.Names, []string{"x", "y"}) {
			t.Errorf("%s: classes %v of %q", name, d.Labels.Class, d.Labels.Names)
		}
		if !cmp.Equal(d.Features.Data, []float32{1, 10, 2, 20, 3, 30}) {
			t.Errorf("%s: features %v", name, d.Features.Data)
		}
		if key == "&weights=1" && !cmp.Equal(d.Graph.Val, []float32{2, 2, 1, 1}) {
			t.Errorf("%s: weights %v", name, d.Graph.Val)
		}
	}
}

// A first line of two words is an edge if another line names one of them, a header if its
// words say so, and else an error that asks.
func TestHeaderOfNames(t *testing.T) {
	labels := "id,kind\nann,x\nbob,y\ncyd,x\n"
	for edges, want := range map[string]int{"ann,bob\nbob,cyd\n": 3, "from,to\nann,bob\nbob,cyd\n": 3, "dan,ann\nann,bob\nbob,cyd\n": 4, "citer,paper\nann,bob\nbob,cyd\n": 3} {
		in := edgeListFiles(t, map[string]string{"e": edges, "l": labels})
		if d := open(t, in("D/e?labels=D/l")); d.Nodes() != want || d.NodeNames.Len() != want {
			t.Errorf("%q: %q", edges, namesOf(d))
		}
	}
	in := edgeListFiles(t, map[string]string{"e": "citer,paper\nann,bob\nbob,cyd\n", "l": labels, "m": "who,what\nann,x\nbob,y\neve,x\n"})
	expectError(t, in("D/e?labels=D/m"), `e:1: "citer, paper" is a header, or data`, "header=1", "header=0")
	if d := open(t, in("D/e?labels=D/l&header=1")); d.Nodes() != 3 {
		t.Errorf("header=1: %q", namesOf(d))
	}
	if d := open(t, in("D/e?labels=D/l&header=0")); d.Nodes() != 5 {
		t.Errorf("header=0: %q", namesOf(d))
	}
	expectError(t, in("D/e?labels=D/m&header=1"), `m:1: "who, what" is a header, or data`, "labels-header=1", `no other file has its ids "eve"`)
}

// nodes=FILE gives names the order of files without ids.
func TestNodesFile(t *testing.T) {
	in := edgeListFiles(t, map[string]string{
		"e": "ann,bob\nbob,cyd\n", "n.csv": "id,kind\ncyd,x\nann,y\nbob,x\n", "l": "x\ny\nx\n", "f": "3\n1\n2\n", "short": "3\n1\n", "less": "id\ncyd\nann\n",
	})
	d := open(t, in("D/e?nodes=D/n.csv&labels=D/n.csv&features=D/f"))
	if !cmp.Equal(namesOf(d), []string{"cyd", "ann", "bob"}) || !cmp.Equal(d.Features.Data, []float32{3, 1, 2}) || !cmp.Equal(d.Labels.Class, []int32{0, 1, 0}) {
		t.Errorf("nodes %q, features %v, classes %v", namesOf(d), d.Features.Data, d.Labels.Class)
	}
	if d = open(t, in("D/e?nodes=D/n.csv&labels=D/l")); !cmp.Equal(d.Labels.Class, []int32{0, 1, 0}) {
		t.Errorf("classes %v", d.Labels.Class)
	}
	expectError(t, in("D/e?labels=D/l"), "l: rows without node ids", "nodes=FILE")
	expectError(t, in("D/e?labels=D/n.csv&features=D/f"), "f: rows without node ids", "nodes=FILE")
	expectError(t, in("D/e?nodes=D/n.csv&labels=D/l&features=D/short"), "short: 2 rows for 3 nodes")
	expectError(t, in("D/e?nodes=D/less&labels=D/l"), `less: 1 ids of the files are not in it: node "bob"`)
}

// Numbers far apart are sorted as numbers, or as texts if the key says so.
func TestNumbersAsNames(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "900000000001,7\n7,12345\n", "l": "id,kind\n7,1\n12345,0\n900000000001,1\n"})
	d := open(t, in("D/e?labels=D/l&ids=names"))
	if !cmp.Equal(namesOf(d), []string{"12345", "7", "900000000001"}) || !cmp.Equal(d.Labels.Class, []int32{0, 1, 1}) {
		t.Errorf("nodes %q, classes %v", namesOf(d), d.Labels.Class)
	}
	d = open(t, in("D/e?labels=D/l"))
	if !cmp.Equal(namesOf(d), []string{"7", "12345", "900000000001"}) || !cmp.Equal(d.Labels.Class, []int32{1, 0, 1}) {
		t.Errorf("nodes %q, classes %v", namesOf(d), d.Labels.Class)
	}
}

// Ids can count from 1. Where rows could go to a node 0 that no file names, an error asks.
func TestIDsFromOne(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "1,2\n2,3\n", "by id": "id,y\n1,5\n2,6\n3,5\n", "column": "5\n6\n5\n", "four": "5\n6\n5\n6\n", "zero": "0,1\n1,2\n"})
	for _, labels := range []string{"by id", "column", "by id&ids=from-1", "column&ids=from-1"} {
		d := open(t, in("D/e?labels=D/"+labels))
		if d.Nodes() != 3 || !cmp.Equal(d.Labels.Class, []int32{0, 1, 0}) || !cmp.Equal(namesOf(d), []string{"1", "2", "3"}) {
			t.Errorf("%s: %d nodes %q, classes %v", labels, d.Nodes(), namesOf(d), d.Labels.Class)
		}
	}
	expectError(t, in("D/e?labels=D/four"), "4 rows in node order", "ids=from-1", "ids=from-0")
	for key, first := range map[string]string{"from-0": "0", "from-1": "1"} {
		if d := open(t, in("D/e?labels=D/four&ids="+key)); d.Nodes() != 4 || d.NodeNames.At(0) != first {
			t.Errorf("%s: %d nodes", key, d.Nodes())
		}
	}
	expectError(t, in("D/zero?labels=D/column&ids=from-1"), "ids=from-1: the files name node 0")
}

// Arrays lie beside an edge list: features, and classes or tasks.
func TestArraysBesideEdges(t *testing.T) {
	in := edgeListFiles(t, map[string]string{
		"e": pathEdges, "x.npy": string(array(t, []float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)), "y.npy": string(array(t, []int64{1, 0, -1, 1})),
		"t.npy": string(array(t, []float32{1, 0, 0, 1, 1, 1, 0, 0}, 4, 2)), "three.npy": string(array(t, []float32{1, 2, 3}, 3, 1)),
	})
	d := open(t, in("D/e?features=D/x.npy&labels=D/y.npy"))
	if !cmp.Equal(d.Features.Data, []float32{1, 2, 3, 4, 5, 6, 7, 8}) || !cmp.Equal(d.Labels.Class, []int32{1, 0, -1, 1}) {
		t.Errorf("features %v, classes %v", d.Features, d.Labels)
	}
	if d = open(t, in("D/e?features=D/x.npy&labels=D/t.npy")); d.Labels.Tasks != 2 {
		t.Errorf("labels %+v", d.Labels)
	}
	expectError(t, in("D/e?features=D/three.npy&labels=D/y.npy"), "three.npy: 3 rows for 4 nodes")
}

// A third column without a header is an error that names both keys; networkx's weights are
// read, and its empty attributes are none.
func TestWeightsAsked(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": "0 1 3\n1 2 4\n", "nx": "0 1 {}\n1 2 {}\n", "path": "0 1 {}\n1 2 {}\n2 3 {}\n", "l4": "1\n0\n1\n0\n", "nxw": "0 1 {'weight': 3}\n1 2 {'weight': 4.0}\n", "half": "0 1 {'weight': 3}\n1 2 {}\n", "bare": "0 1 {'weight': 2}\n1 2 {'weight': 2}\n0 2 5\n", "l": "1\n0\n1\n", "two": "0 1\n1 2\n", "named": "from,to\n0,1\n1,2\n"})
	expectError(t, in("D/e?labels=D/l"), "weights=1", "weights=0")
	expectError(t, in("D/two?labels=D/l&weights=1"), `two:1: "0, 1" has no column besides the ids, so weights=1 finds no weights: leave it out`)
	expectError(t, in("D/named?labels=D/l&weights=1"), `named:1: "from, to" has no column besides the ids`)
	if d := open(t, in("D/nxw?labels=D/l")); !cmp.Equal(d.Graph.Val, []float32{3, 3, 4, 4}) {
		t.Errorf("attributes: %v", d.Graph)
	}
	if d := open(t, in("D/half?labels=D/l")); d.Graph.Val != nil {
		t.Errorf("a weight of some edges: %v", d.Graph)
	}
	for _, file := range []string{"e", "nxw"} {
		if d := open(t, in("D/"+file+"?labels=D/l&weights=0")); d.Graph.Val != nil || d.Edges() != 2 {
			t.Errorf("%s, weights=0: %v", file, d.Graph)
		}
		if d := open(t, in("D/"+file+"?labels=D/l&weights=1")); !cmp.Equal(d.Graph.Val, []float32{3, 3, 4, 4}) {
			t.Errorf("%s, weights=1: %v", file, d.Graph)
		}
	}
	if d := open(t, in("D/nx?labels=D/l")); d.Graph.Val != nil || d.Edges() != 2 {
		t.Errorf("attributes: %v", d.Graph)
	}
	if d := open(t, in("D/path?labels=D/l4")); d.Graph.Val != nil || d.Edges() != 3 {
		t.Errorf("a path of nodes in order: %v", d.Graph)
	}
	expectError(t, in("D/half?labels=D/l&weights=1"), "half:2:", `weight "{}", want a positive number`)
	expectError(t, in("D/bare?labels=D/l"), "bare:3:", `weight "5", want a positive number`)
}

// The key nodes says how many nodes there are; nothing else in the files does.
func TestNumberOfNodes(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"gaps": "1,3\n3,5\n", "all": "1,2\n2,3\n3,4\n4,5\n", "l": "id,y\n1,a\n3,b\n5,a\n", "seven": "a\nb\na\nb\na\nb\na\n"})
	for _, spec := range []string{"D/gaps?labels=D/l&nodes=5&ids=from-1", "D/all?labels=D/l&nodes=5"} {
		if d := open(t, in(spec)); d.Nodes() != 5 || d.NodeNames.At(0) != "1" {
			t.Errorf("%s: %d nodes, the first is %s", spec, d.Nodes(), d.NodeNames.At(0))
		}
	}
	expectError(t, in("D/gaps?labels=D/l&nodes=4"), "nodes=4: the ids are not numbers below that: 1, 3, 5")
	expectError(t, in("D/gaps?labels=D/l&nodes=5"), "nodes=5: the files have 3 nodes", "ids=from-1")
	expectError(t, in("D/all?labels=D/seven&nodes=5&ids=from-1"), "nodes=5: the files have 7 nodes")
}

// Features come from the graph, by the key: also in place of those in files.
func TestFeaturesFromTheGraph(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": pathEdges, "l": "1\n0\n1\n0\n", "f": "1\n2\n3\n4\n"})
	if d := open(t, in("D/e?labels=D/l&features=degree")); d.Features.Cols != 2 || d.Features.Row(1)[1] != float32(math.Log(3)) {
		t.Errorf("degree: %v", d.Features)
	}
	made, dir := made(t, 20, 1), t.TempDir()
	writeFiles(t, dir, npyFiles(t, made))
	if d := open(t, "npy:"+dir+"?features=degree"); d.Features.Cols != 2 {
		t.Errorf("%d features", d.Features.Cols)
	}
	expectError(t, "npy:"+dir+"?features=x", "features=x: want degree, position")
}

// Any names without quotes and control characters come back from CSV in double quotes. The
// columns are named, since a node may be called as a column is. A node may be called as a
// missing value, a class may not.
func TestNamesComeBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé](?:[a-z ,;.é-]{0,6}[a-z])?`), 3, 12, rapid.ID[string]).Draw(t, "names")
		var edges, labels strings.Builder
		edges.WriteString("source,target\n")
		labels.WriteString("id,label\n")
		for k, name := range names {
			fmt.Fprintf(&edges, "%q,%q\n", name, names[(k+1)%len(names)])
			fmt.Fprintf(&labels, "%q,%q\n", name, names[k%2])
		}
		for file, text := range map[string]string{"e": edges.String(), "l": labels.String()} {
			if err := writeErr(filepath.Join(dir, file), text); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(context.Background(), "edges:"+dir+"/e?columns=source,target&labels="+dir+"/l&labels-columns=id,label&split=1/1/1", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(namesOf(d), slices.Sorted(slices.Values(names))) {
			t.Fatalf("%q became %q", names, namesOf(d))
		}
		for i, name := range namesOf(d) {
			got, want := "", names[slices.Index(names, name)%2]
			if c := d.Labels.Class[i]; c >= 0 {
				got = d.Labels.Names[c]
			}
			if slices.Contains([]string{"nan", "na", "none", "null"}, want) { // missing
				want = ""
			}
			if got != want {
				t.Fatalf("node %d of %q has the label %q", i, names, got)
			}
		}
	})
}

// The names of OGB's classes come from the folder mapping.
func TestOGBClassNames(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	texts := ogbTexts(d)
	for mapping, want := range map[string][]string{
		"label idx,category\n0,a\n2,\"c, d\"\n1,b e\n3,unused\n": {"a", "b e", "c, d"}, "": nil, "idx,name\n0,a\n": nil, "idx,name\nx,a\n": nil,
		"idx,name\n0,a\n1,b\n2,c\nx,d\n": nil,
	} {
		delete(texts, "mapping/labelidx2kind")
		if mapping != "" {
			texts["mapping/labelidx2kind"] = mapping
		}
		folder := filepath.Join(dir, fmt.Sprint(len(mapping)))
		writeTexts(t, folder, texts)
		if got := open(t, "ogb:"+folder).Labels.Names; !cmp.Equal(got, want) {
			t.Errorf("%q: %q, want %q", mapping, got, want)
		}
	}
}
