package formats

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// ring returns an edge list of a ring of nodes.
func ring(ids []string, sep string) string {
	var text strings.Builder
	for k, id := range ids {
		text.WriteString(id + sep + ids[(k+1)%len(ids)] + "\n")
	}
	return text.String()
}

// numbered returns n ids: a prefix and a number.
func numberedIDs(prefix string, from, n, step int) []string {
	ids := make([]string, n)
	for k := range ids {
		ids[k] = fmt.Sprint(prefix, from+k*step)
	}
	return ids
}

// readFiles reads files, with the other keys of a SPEC.
func readFiles(t *testing.T, files, keys map[string]string) (*Set, error) {
	t.Helper()
	return (&tableCase{Files: files, Keys: keys}).read(t)
}

func mustRead(t *testing.T, files, keys map[string]string) *Set {
	t.Helper()
	d, err := readFiles(t, files, keys)
	if err != nil {
		t.Fatalf("%v: %v", keys, err)
	}
	return d
}

func wantError(t *testing.T, files, keys map[string]string, words ...string) {
	t.Helper()
	_, err := readFiles(t, files, keys)
	if err == nil {
		t.Errorf("%q %v is read", files, keys)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q lacks %q", err, word)
		}
	}
}

// No word is a header by itself: a first edge is an edge, whatever its nodes are called.
func TestFirstEdgeIsNoHeader(t *testing.T) {
	for _, prefix := range []string{"u", "v", "node", "node_", "Node", "id", "from", "src", "source_", "target", "user "} {
		for _, sep := range []string{",", "\t", ";"} {
			for _, n := range []int{3, 8, 200} {
				d := mustRead(t, map[string]string{"edges": ring(numberedIDs(prefix, 0, n, 1), sep)}, nil)
				if d.Graph.Rows != n || d.Report.Edges != int64(n) {
					t.Errorf("%s, %q, %d: %d nodes, %d edges", prefix, sep, n, d.Graph.Rows, d.Report.Edges)
				}
			}
		}
	}
}

// A word over names of classes, of which more than half are numbers, is no header.
func TestNumbersAmongNames(t *testing.T) {
	for _, labels := range []string{"a,blue\nb,12\nc,12\nd,12\ne,red\n", "a,blue\nb,1\nc,2\nd,3\ne,x\n"} {
		d := mustRead(t, map[string]string{"edges": "b,a\nc,d\ne,f\nf,a\na,c\n", "labels": labels}, map[string]string{"labels-columns": "1,2", "header": "0"})
		if got := labelTexts(d); len(got) != 6 || got[0] != "blue" {
			t.Errorf("%q: labels %q, notes %q", labels, got, d.Notes)
		}
	}
	d := mustRead(t, map[string]string{"edges": ring(numberedIDs("n", 0, 30, 1), ","), "labels": "name,year\n" + strings.ReplaceAll(ring(numberedIDs("n", 0, 29, 1), ",")+"n29,x\n", ",n", ",")}, nil)
	if got := labelTexts(d); len(got) != 30 || got[0] != "1" {
		t.Errorf("labels %q, notes %q", got, d.Notes)
	}
}

// A table is keyed by its first column, whatever it is called, in any order of the rows.
func TestKeyedByAnyName(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, from := range []int{0, 1, 1000} {
		for _, prefix := range []string{"", "n"} {
			for _, key := range []string{"key", "index", "name", "user", "vertex", "uid", "pid", "Unnamed: 0", "x y"} {
				n := 5 + random.IntN(30)
				ids := numberedIDs(prefix, from, n, 1)
				features, labels := key+",size,weight\n", key+",class\n"
				for _, k := range random.Perm(n) {
					features += fmt.Sprintf("%s,%d.5,%d\n", ids[k], k, k%2)
					labels += fmt.Sprintf("%s,c%d\n", ids[k], k%3)
				}
				d := mustRead(t, map[string]string{"edges": ring(ids, ","), "features": features, "labels": labels}, nil)
				x, _, err := d.Table.Features(context.Background(), nil, false)
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					k := i
					if prefix == "n" || from == 1000 {
						fmt.Sscanf(strings.TrimPrefix(d.NodeNames.At(i), prefix), "%d", &k)
						k -= from
					}
					if x.Cols != 2 || x.Row(i)[0] != float32(k)+0.5 || x.Row(i)[1] != float32(k%2) || labelTexts(d)[i] != fmt.Sprintf("c%d", k%3) {
						t.Fatalf("%s, %s%d: node %s has the features %v and the label %s", key, prefix, from, d.NodeNames.At(i), x.Row(i), labelTexts(d)[i])
					}
				}
			}
		}
	}
}

// Ids are compared as they are written, except numbers in their usual form, which are in
// order; no node is made for a gap between them.
func TestKindsOfIDs(t *testing.T) {
	for edges, want := range map[string][]string{
		"001,007\n7,0007\n":                     {"0007", "001", "007", "7"},
		"1,+1\n-1,1\n":                          {"+1", "-1", "1"},
		"10001,10002\n10002,30000\n":            {"10001", "10002", "30000"},
		"100 200\n200 300000\n":                 {"100", "200", "300000"},
		"9,10\n10,11\n":                         {"9", "10", "11"},
		"9,10\n10,x\n":                          {"10", "9", "x"},
		"2147483646,2147483647\n2147483648,5\n": {"5", "2147483646", "2147483647", "2147483648"},
		"18446744073709551616,18446744073709551615\n5,18446744073709551615\n": {"5", "18446744073709551615", "18446744073709551616"},
		"a,b\n1.0,2.0\n3.0,1.0\n": {"1", "2", "3"},
		"a,b\n1.0,x\n3.0,1\n":     {"1", "3", "x"},
		"1.5,2.0\n2.0,1\n":        {"1", "1.5", "2.0"},
		"0,1\r\n1,2\r\n":          {"0", "1", "2"},
	} {
		d := mustRead(t, map[string]string{"edges": edges}, nil)
		var got []string
		for i := range d.Graph.Rows {
			got = append(got, d.NodeNames.At(i))
		}
		if !cmp.Equal(got, want) {
			t.Errorf("%q: %q, want %q", edges, got, want)
		}
	}
	d := mustRead(t, map[string]string{"edges": "9,10\n10,11\n"}, map[string]string{"ids": "names"})
	if d.NodeNames.At(0) != "10" {
		t.Errorf("ids=names: the first node is %s", d.NodeNames.At(0))
	}
	d = mustRead(t, map[string]string{"edges": "2,4\n"}, map[string]string{"nodes": "6", "ids": "from-0"})
	if d.Graph.Rows != 6 || d.NodeNames != nil {
		t.Errorf("nodes=6: %d nodes", d.Graph.Rows)
	}
	for _, c := range []struct{ nodes, ids, want string }{
		{"6", "", "no file names node 0"}, {"3", "from-0", "below that"}, {"0", "", "want a file, or a number"}, {"6", "names", "not numbers"},
	} {
		keys := map[string]string{"nodes": c.nodes}
		if c.ids != "" {
			keys["ids"] = c.ids
		}
		wantError(t, map[string]string{"edges": "2,4\n"}, keys, c.want)
	}
	wantError(t, map[string]string{"edges": "a,b\n"}, map[string]string{"header": "0", "ids": "from-1"}, `ids=from-1: these ids`, `"a", "b"`)
	wantError(t, map[string]string{"edges": "a,b\n,c\nb,\n"}, nil, "edges:2: column 1: an empty id; line 3: column 2: an empty id")
}

// −1 is a class beside 1, in every kind of file; beside other labels a table asks, and JSON
// takes it for no label. Words for nothing are no labels, in any case.
func TestUnlabelled(t *testing.T) {
	ids := numberedIDs("", 0, 6, 1)
	labels := func(values ...string) string {
		text := "id,y\n"
		for k, v := range values {
			text += ids[k] + "," + v + "\n"
		}
		return text
	}
	edges := ring(ids, ",")
	for name, c := range map[string]struct {
		labels, key string
		want        []string
	}{
		"two":       {labels("-1", "1", "1", "-1", "1", "-1"), "", []string{"-1", "1", "1", "-1", "1", "-1"}},
		"key":       {labels("-1", "0", "1", "-1", "2", "1"), "-1", []string{"", "0", "1", "", "2", "1"}},
		"class":     {labels("-1", "0", "1", "-1", "2", "1"), "none", []string{"-1", "0", "1", "-1", "2", "1"}},
		"words":     {labels("NA", "n/a", "None", "NULL", "a", "nan"), "", []string{"", "", "", "", "a", ""}},
		"own words": {labels("?", "a", "b", "unknown", "a", ""), "?,unknown", []string{"", "a", "b", "", "a", ""}},
		"whole":     {labels("1.0", "2.0", "", "1.0", "2.0", "10.0"), "", []string{"1", "2", "", "1", "2", "10"}},
		"not whole": {labels("1.0", "2.5", "", "1.0", "2.5", "1.0"), "", []string{"1.0", "2.5", "", "1.0", "2.5", "1.0"}},
	} {
		keys := map[string]string{}
		if c.key != "" {
			keys["unlabelled"] = c.key
		}
		if got := labelTexts(mustRead(t, map[string]string{"edges": edges, "labels": c.labels}, keys)); !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	wantError(t, map[string]string{"edges": edges, "labels": labels("-1", "0", "1", "-1", "2", "1")}, nil, "unlabelled=-1 if it stands for no label, or unlabelled= if")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "edges"), []byte(edges))
	for text, want := range map[string][]string{
		`{"0": -1, "1": 1, "2": -1}`: {"-1", "1", "-1", "", "", ""}, `{"0": -1, "1": 1, "2": 0}`: {"", "1", "0", "", "", ""},
		`{"0": "a", "1": "", "2": "NA", "3": "1.0", "4": 1}`: {"a", "", "", "1.0", "1", ""},
	} {
		write(t, filepath.Join(dir, "l.json"), []byte(text))
		d, err := EdgeList(context.Background(), filepath.Join(dir, "edges"), Options{Keys: map[string]string{"labels": filepath.Join(dir, "l.json")}})
		if err != nil || !cmp.Equal(labelTexts(d), want) {
			t.Errorf("%s: %v, %v", text, labelTexts(d), err)
		}
	}
}

// people is a raw table: texts, missing values, a decimal comma, pandas' index, a label.
const people = `;user;age;city;height;since;team
0;ann;31;Brno;1,62;2019;red
1;bob;;Wien;1,8;2020;blue
2;cyd;45;;1,71;;red
3;dan;27;Brno;;2021;
4;eve;60;Wien;1,9;2019;blue
`

// TestRawTable reads a raw table whole, by columns, and from a packed file.
func TestRawTable(t *testing.T) {
	files := map[string]string{"edges": "from,to\nann,bob\nbob,cyd\ncyd,dan\ndan,fay\nfay,eve\n", "features": people, "labels": people}
	d := mustRead(t, files, map[string]string{"columns": "from,to", "labels-columns": "user,team"})
	x, notes, err := d.Table.Features(context.Background(), []int32{0, 1, 2}, false)
	if err != nil {
		t.Fatal(err)
	}
	// age, age missing, city (Brno, Wien), missing, height, since, missing
	want := [][]float32{
		{31, 0, 1, 0, 0, 1.62, 2019, 0}, {0, 1, 0, 1, 0, 1.8, 2020, 0}, {45, 0, 0, 0, 1, 1.71, 0, 1},
		{27, 0, 1, 0, 0, 0, 2021, 0}, {60, 0, 0, 1, 0, 1.9, 2019, 0}, {0, 1, 0, 0, 1, 0, 0, 1},
	}
	for i := range want {
		if !cmp.Equal(x.Row(i), want[i]) {
			t.Errorf("node %s: %v, want %v", d.NodeNames.At(i), x.Row(i), want[i])
		}
	}
	if got := labelTexts(d); !cmp.Equal(got, []string{"red", "blue", "red", "", "blue", ""}) {
		t.Errorf("labels %q", got)
	}
	all := strings.Join(append(d.Notes, notes...), "\n")
	for _, want := range []string{"team left out, since it is read as the label", "city one of 2 values", "1 nodes of the edges have no row", `"fay"`, "a further column marks them: 3 of 4 columns", `header in line 1: "from, to"`, "6 nodes, whose ids are texts"} {
		if !strings.Contains(all, want) {
			t.Errorf("notes\n%s\nlack %q", all, want)
		}
	}
	scaled := mustRead(t, files, map[string]string{"header": "1", "labels-columns": "user,team", "features-columns": "user,age,team"})
	if x, _, _ = scaled.Table.Features(context.Background(), []int32{0, 2}, true); x.Cols != 1 || x.Row(0)[0] != -1 || x.Row(2)[0] != 1 || x.Row(5)[0] != 0 {
		t.Errorf("scaled: %v", x.Float32s())
	}
	numbers := mustRead(t, files, map[string]string{"header": "1", "labels-columns": "2,7", "features-columns": "2,3,5"})
	if x, _, _ = numbers.Table.Features(context.Background(), nil, false); x.Cols != 4 || x.Row(0)[2] != 1.62 || !cmp.Equal(labelTexts(numbers), labelTexts(d)) {
		t.Errorf("columns by number: %v, %q", x.Float32s(), labelTexts(numbers))
	}
}

// TestSeveralFeatureFiles joins the columns of tables by their ids.
func TestSeveralFeatureFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"e": "a,b\nb,c\n", "x": "id,p,q\nc,5,6\na,1,2\nb,3,4\n", "y": "id,r\nb,8\nc,9\na,7\n"} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	for columns, want := range map[string][]float32{"": {1, 2, 7, 3, 4, 8, 5, 6, 9}, "id,r,q": {2, 7, 4, 8, 6, 9}} {
		keys := map[string]string{"features": dir + "/x," + dir + "/y"}
		if columns != "" {
			keys["features-columns"] = columns
		}
		d, err := EdgeList(context.Background(), dir+"/e", Options{Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		if x, _, _ := d.Table.Features(context.Background(), nil, false); !cmp.Equal(x.Float32s(), want) {
			t.Errorf("%s: %v, want %v", columns, x.Float32s(), want)
		}
	}
	_, err := EdgeList(context.Background(), dir+"/e", Options{Keys: map[string]string{"features": dir + "/x," + dir + "/y", "features-columns": "id,r,s"}})
	if err == nil || !strings.Contains(err.Error(), `column 3, "s", is in 0 of the 2 files`) {
		t.Errorf("an unknown column: %v", err)
	}
}

// TestDecimals reads commas in numbers, and asks where they can separate thousands.
func TestDecimals(t *testing.T) {
	ids := numberedIDs("n", 0, 3, 1)
	edges := ring(ids, ",")
	table := func(values ...string) string {
		text := "id\tx\n"
		for k, v := range values {
			text += ids[k] + "\t" + v + "\n"
		}
		return text
	}
	for _, c := range []struct {
		features, decimal string
		want              []float32 // nil: an error
	}{
		{table("1,5", "2", "-0,25"), "", []float32{1.5, 2, -0.25}},
		{table("1,500", "2", "1,250"), "", nil},
		{table("1,500", "2", "1,250"), "comma", []float32{1.5, 2, 1.25}},
		{table("1,500", "2", "1,250,000"), "point", []float32{1500, 2, 1250000}},
		{table("1,500", "2", "1,5"), "", []float32{1.5, 2, 1.5}},
		{table("1,500.25", "2.5", "-1,250"), "point", []float32{1500.25, 2.5, -1250}},
		{"id,x\nn0,\"1,5\"\nn1,2\nn2,3\n", "", nil},
		{"id,x\nn0,\"1,5\"\nn1,2\nn2,3\n", "comma", []float32{1.5, 2, 3}},
		{"id,x\nn0,1e3\nn1,.5\nn2,+2.\n", "", []float32{1000, 0.5, 2}},
	} {
		keys := map[string]string{}
		if c.decimal != "" {
			keys["decimal"] = c.decimal
		}
		files := map[string]string{"edges": edges, "features": c.features}
		if c.want == nil {
			wantError(t, files, keys, "features:2: ", "decimal=comma or decimal=point")
			continue
		}
		if x, _, _ := mustRead(t, files, keys).Table.Features(context.Background(), nil, false); !cmp.Equal(x.Float32s(), c.want) {
			t.Errorf("%q, %s: %v, want %v", c.features, c.decimal, x.Float32s(), c.want)
		}
	}
}

// TestThousands checks that a comma that cannot separate thousands is none.
func TestThousands(t *testing.T) {
	for _, bad := range []string{"1,5.5", "1.5,300", "1,50", "1,500,00"} {
		files := map[string]string{"edges": "a,b\nb,c\nc,a\n", "features": "id\tx\na\t" + bad + "\nb\t2\nc\t1,250\n"}
		wantError(t, files, map[string]string{"decimal": "point"}, "features:2: column 2 (x), node \"a\": \""+bad+"\" is not a finite number")
	}
}

// TestFaultsOfCells names the line, the column and the node of up to five cells.
func TestFaultsOfCells(t *testing.T) {
	ids := numberedIDs("n", 0, 40, 1)
	features := "name,x,y\n"
	for k, id := range ids {
		switch {
		case k%6 == 3:
			features += id + ",12 kg,1\n"
		default:
			features += fmt.Sprintf("%s,%d,2.5\n", id, k)
		}
	}
	files := map[string]string{"edges": ring(ids, ","), "features": features}
	wantError(t, files, nil, `features:5: column 2 (x), node "n3": "12 kg" is not a finite number; line 11: column 2 (x), node "n9": `, `; line 29: `, "; and more")
	files["features"] = strings.ReplaceAll(features, "12 kg", "?")
	wantError(t, files, nil, `"?" is not a finite number`)
	d := mustRead(t, files, map[string]string{"missing": "?"})
	if x, _, _ := d.Table.Features(context.Background(), nil, false); x.Cols != 3 {
		t.Errorf("missing=?: %d columns", x.Cols)
	}
	files["features"] = "name,x\n" + strings.Repeat("n1,2\n", 3) + "n2,1\n"
	wantError(t, files, map[string]string{"features-columns": "name,x"}, `features:3: name: node "n1" is there twice; line 4: name: node "n1" is there twice`)
}

// TestWeightsOfTables finds the weights by their name or number, and leaves other columns out.
func TestWeightsOfTables(t *testing.T) {
	for _, c := range []struct {
		edges string
		keys  map[string]string
		want  []float32 // nil: all 1
		left  string
	}{
		{"u,v,weight\na,b,2\nb,c,0.5\n", nil, []float32{2, 2, 0.5, 0.5}, ""},
		{",u,v,Weight\n0,a,b,2\n1,b,c,0.5\n", nil, []float32{2, 2, 0.5, 0.5}, ""},
		{"u,v,weight\na,b,2\nb,c,0.5\n", map[string]string{"weights": "0"}, nil, "weight (such as"},
		{"u,v,time\na,b,2\nb,c,5\n", nil, nil, `time (such as "2")`},
		{"u,v,time\na,b,2\nb,c,5\n", map[string]string{"weights": "1"}, []float32{2, 2, 5, 5}, ""},
		{"u;v;since;w\na;b;x;2,5\nb;c;y;5\n", map[string]string{"columns": "u,v,w"}, []float32{2.5, 2.5, 5, 5}, `since (such as "x")`},
		{"u;v;since;w\na;b;x;2,5\nb;c;y;5\n", map[string]string{"columns": "2,1,4"}, []float32{2.5, 2.5, 5, 5}, `since (such as "x")`},
		{"a b {'weight': 2}\nb c {'weight': 3.5}\n", nil, []float32{2, 2, 3.5, 3.5}, ""},
	} {
		d := mustRead(t, map[string]string{"edges": c.edges}, c.keys)
		if !cmp.Equal(d.Graph.Val, c.want) || !strings.Contains(strings.Join(d.Notes, "\n"), c.left) {
			t.Errorf("%q %v: weights %v, notes %q", c.edges, c.keys, d.Graph.Val, d.Notes)
		}
	}
	wantError(t, map[string]string{"edges": "u,v,weight\na,b,2\nb,c,0\na,c,-1\n"}, nil, `edges:3: weight "0", want a positive number; line 4`, "(weights=0 leaves")
	_, err := readFiles(t, map[string]string{"edges": "u,v,weight\na,b,2\nb,c\nc,a,1\n"}, nil)
	if err == nil || !strings.HasSuffix(err.Error(), "the first line of data has 3") {
		t.Errorf("a line without a weight: %v", err)
	}
}

// The first edge is checked as the others are.
func TestFirstEdgeIsChecked(t *testing.T) {
	wantError(t, map[string]string{"edges": "1,\n2,3\n3,4\n4,2\n1,2\n"}, map[string]string{"header": "0"}, "edges:1: column 2: an empty id")
	wantError(t, map[string]string{"edges": "1,2,-1\n2,3,1\n3,4,1\n4,1,1\n"}, map[string]string{"weights": "1"}, `edges:1: weight "-1", want a positive number`)
}

// TestOneHotLabels reads rows with a single 1 as classes, unless the key says tasks.
func TestOneHotLabels(t *testing.T) {
	ids := numberedIDs("", 0, 4, 1)
	files := map[string]string{"edges": ring(ids, ","), "labels": "id,red,blue\n0,1,0\n1,0,1\n2,1,0\n3,,\n"}
	if got := labelTexts(mustRead(t, files, nil)); !cmp.Equal(got, []string{"red", "blue", "red", ""}) {
		t.Errorf("classes %q", got)
	}
	if d := mustRead(t, files, map[string]string{"lists": "tasks"}); d.Labels.Tasks != 2 || !cmp.Equal(d.Labels.Names, []string{"red", "blue"}) {
		t.Errorf("tasks %+v", d.Labels)
	}
	files["labels"] = "id,red,blue\n0,1,1\n1,0,1\n2,1,0\n3,,\n"
	if d := mustRead(t, files, nil); d.Labels.Tasks != 2 {
		t.Errorf("tasks %+v", d.Labels)
	}
}

// TestNodesWithoutRows counts ids that only some files have, and refuses a table of other ids.
func TestNodesWithoutRows(t *testing.T) {
	files := map[string]string{"edges": "a,b\nb,c\nc,d\n", "labels": "id,y\nb,1\nc,2\nx,1\n"}
	d := mustRead(t, files, map[string]string{"labels-columns": "id,y"})
	notes := strings.Join(d.Notes, "\n")
	if d.Graph.Rows != 5 || !strings.Contains(notes, `1 of the 3 ids in`) || !strings.Contains(notes, `have no edge: "x"`) || !strings.Contains(notes, `2 nodes of the edges have no row in`) {
		t.Errorf("%d nodes, notes %s", d.Graph.Rows, notes)
	}
	files["labels"] = "id,y\nB,1\nC,2\n"
	wantError(t, files, map[string]string{"labels-columns": "id,y", "header": "0"}, `none of its ids has an edge in`, `"B", "C"`)
}

// TestParquetTables reads the same from Parquet as from text.
func TestParquetTables(t *testing.T) {
	type edge struct {
		From, To string
		Weight   float64 `parquet:"weight"`
	}
	type person struct {
		Name string   `parquet:"name"`
		Team *string  `parquet:"team,optional"`
		Age  *float64 `parquet:"age,optional"`
		City string   `parquet:"city"`
	}
	dir := t.TempDir()
	red, age := "red", 31.5
	for name, err := range map[string]error{
		"edges":  parquet.WriteFile(dir+"/e.parquet", []edge{{"ann", "bob", 2}, {"bob", "cyd", 0.5}}),
		"people": parquet.WriteFile(dir+"/p.parquet", []person{{"cyd", &red, nil, "Wien"}, {"ann", &red, &age, "Brno"}, {"bob", nil, &age, "Wien"}}),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	write(t, dir+"/e.csv", []byte("From,To,weight\nann,bob,2\nbob,cyd,0.5\n"))
	write(t, dir+"/p.csv", []byte("name,team,age,city\ncyd,red,,Wien\nann,red,31.5,Brno\nbob,,31.5,Wien\n"))
	var sets []*Set
	for _, kind := range []string{"parquet", "csv"} {
		d, err := EdgeList(context.Background(), dir+"/e."+kind, Options{Keys: map[string]string{"labels": dir + "/p." + kind, "labels-columns": "name,team", "features": dir + "/p." + kind}})
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, d)
	}
	a, _, _ := sets[0].Table.Features(context.Background(), nil, true)
	b, _, _ := sets[1].Table.Features(context.Background(), nil, true)
	if !cmp.Equal(sets[0].Graph, sets[1].Graph) || !cmp.Equal(sets[0].Labels, sets[1].Labels) || !cmp.Equal(a, b) || !cmp.Equal(sets[0].NodeNames, sets[1].NodeNames) {
		t.Errorf("Parquet gives %v %v, text %v %v", sets[0].Graph, a, sets[1].Graph, b)
	}
	if len(a.Row(0)) != 4 || sets[0].Graph.Val == nil {
		t.Errorf("features %v, weights %v", a, sets[0].Graph.Val)
	}
}

// TestDebianPackages reads a graph as people have it.
func TestDebianPackages(t *testing.T) {
	dir := "../../../shared/data/debian-packages/"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("real files are not here: %v", err)
	}
	d, err := EdgeList(context.Background(), dir+"depends.csv.gz", Options{Keys: map[string]string{
		"labels": dir + "packages.csv.gz", "labels-columns": "package,section",
		"features": dir + "packages.csv.gz", "features-columns": "package,priority,architecture,multi_arch,installed_size,size,implemented_in,interface",
	}})
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := d.Table.Features(context.Background(), nil, true)
	if err != nil || d.Graph.Rows != 63_666 || d.Report.Edges != 318_175 || d.Labels.Classes != 58 || x.Cols != 49 {
		t.Errorf("%d nodes, %d edges, %d classes, %d features, %v", d.Graph.Rows, d.Report.Edges, d.Labels.Classes, x.Cols, err)
	}
}

// FuzzEdgeList reads any three files, with some keys. An error of one line is wanted, or a set
// whose parts fit.
func FuzzEdgeList(f *testing.F) {
	keys := []map[string]string{
		{}, {"weights": "1"}, {"weights": "0", "ids": "names", "comments": "1"}, {"features-columns": ",1", "labels-header": "0", "decimal": "comma"},
		{"labels-columns": "1,2", "columns": "2,1", "unlabelled": "-1", "missing": "?"}, {"nodes": "5", "ids": "from-0", "lists": "tasks", "decimal": "point"},
	}
	for k := range keys {
		f.Add(byte(k), []byte("0,1\n1,2\n"), []byte("id,y\n0,a\n1,b\n2,\n"), []byte("id,x,z\n0,1.5,u\n1,,v\n2,3,u\n"))
		f.Add(byte(k), []byte("from;to;weight\na;b;1,5\nb;c;2\n"), []byte(";name;p;q\n0;a;1;0\n1;b;0;1\n"), []byte("name;x\na;1,5\nc;2\n"))
		f.Add(byte(k), []byte("a b {'weight': 1}\nb c {}\n"), []byte("x\ny\nx\n"), []byte("1 2\n3 4\n5 6\n"))
	}
	f.Fuzz(func(t *testing.T, which byte, edges, labels, features []byte) {
		c := tableCase{Files: map[string]string{"edges": string(edges), "labels": string(labels), "features": string(features)}, Keys: keys[int(which)%len(keys)]}
		d, err := c.read(t)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		n := d.Graph.Rows
		if err := d.Labels.Validate(); err != nil || d.Labels.Nodes() != n || d.NodeNames != nil && d.NodeNames.Len() != n {
			t.Fatalf("%d nodes, labels %+v: %v", n, d.Labels, err)
		}
		if d.Table == nil {
			return
		}
		for _, scale := range []bool{true, false} {
			x, _, err := d.Table.Features(context.Background(), nil, scale)
			if err == nil && (x.Rows != n || x.Validate(t.Context()) != nil) {
				t.Fatalf("%d nodes, features %+v: %v", n, x, x.Validate(t.Context()))
			}
		}
	})
}

// One file may list the nodes, and have their features and labels.
func TestOneFileForAll(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/e", []byte("0,1\n1,2\n"))
	write(t, dir+"/n", []byte("id,size,team\n2,2.5,a\n0,0.5,b\n1,1.5,a\n"))
	d, err := EdgeList(context.Background(), dir+"/e", Options{Keys: map[string]string{"nodes": dir + "/n", "nodes-columns": "id", "features": dir + "/n", "features-columns": "id,size", "labels": dir + "/n", "labels-columns": "id,team"}})
	if err != nil {
		t.Fatal(err)
	}
	x, _, err := d.Table.Features(context.Background(), nil, false)
	if err != nil || !cmp.Equal(x.Float32s(), []float32{2.5, 0.5, 1.5}) || !cmp.Equal(labelTexts(d), []string{"a", "b", "a"}) {
		t.Errorf("%v, %v, %v", x, labelTexts(d), err)
	}
}

// The first lines say whether ids end in .0; another one is an error where it comes late.
func TestLateID(t *testing.T) {
	first := strings.Repeat("1.0,2.0\n", 200_000)
	wantError(t, map[string]string{"edges": first + "3,4.0\n"}, nil, `edges:200001: column 1: id "3", where the first ones end in .0`)
	if d := mustRead(t, map[string]string{"edges": first + "3.0,4.0\n"}, nil); !cmp.Equal(d.NodeNames.At(0), "1") || d.Graph.Rows != 4 {
		t.Errorf("%d nodes, the first is %s", d.Graph.Rows, d.NodeNames.At(0))
	}
}

// Of labels and features in one file, or in two with the same header, the label never becomes a
// feature, whether it is a text or a number, and whether columns are picked or not.
func TestLabelIsNoFeature(t *testing.T) {
	for name, labels := range map[string][]string{"texts": {"red", "blue", "red", "blue", "green", "red"}, "numbers": {"3", "1", "3", "1", "2", "3"}, "zeros and ones": {"0", "1", "0", "1", "1", "0"}} {
		for _, sep := range []string{",", ";", "\t"} {
			for _, header := range []bool{true, false} {
				table := ""
				if header {
					table = strings.Join([]string{"user", "size", "team", "height"}, sep) + "\n"
				}
				for k, label := range labels {
					table += strings.Join([]string{fmt.Sprint("u", k), fmt.Sprint(10*k + 5), label, fmt.Sprint(k, ".5")}, sep) + "\n"
				}
				dir := t.TempDir()
				write(t, dir+"/e", []byte(ring(numberedIDs("u", 0, 6, 1), sep)))
				write(t, dir+"/one", []byte(table))
				write(t, dir+"/two", []byte(table))
				for _, c := range []struct{ features, label, picked, want string }{
					{"one", "user,team", "", "size height"}, {"one", "1,3", "", "size height"},
					{"one", "user,team", "user,size,team", "size"}, {"one", "1,3", "1,3,4", "height"}, {"one", "1,3", "1,4", "height"},
					{"./one", "1,3", "", "size height"},
					{"two", "user,team", "", "size height"}, {"two", "1,3", "", "size height"},
				} {
					if !header && (strings.Contains(c.label+c.picked, "user") || c.features == "two") {
						continue
					}
					keys := map[string]string{"labels": dir + "/one", "labels-columns": c.label, "features": dir + "/" + c.features, "header": "0"}
					if c.picked != "" {
						keys["features-columns"] = c.picked
					}
					d, err := EdgeList(context.Background(), dir+"/e", Options{Keys: keys})
					if err != nil {
						t.Fatalf("%s %q %v: %v", name, sep, keys, err)
					}
					var got []string
					for _, column := range d.Table.Columns() {
						got = append(got, strings.NewReplacer("column 2", "size", "column 4", "height").Replace(column.Name))
					}
					if strings.Join(got, " ") != c.want || !cmp.Equal(labelTexts(d), labels) {
						t.Errorf("%s, separator %q, header %v, %v: features %q, want %s; labels %q", name, sep, header, keys, got, c.want, labelTexts(d))
					}
				}
			}
		}
	}
}
