package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"math/rand/v2"
	"pgregory.net/rapid"

	"github.com/gcn-layerwise/gcn/graph"
)

// All forms of split files give the same split, for numbers, ids from 1 and names.
func TestSplitFiles(t *testing.T) {
	want := Split{Train: []int32{0, 3}, Valid: []int32{1}, Test: []int32{2}}
	files := map[string]string{
		"e": pathEdges, "y": "1\n0\n1\n0\n", "tr": "0\n3\n", "va": "id\n1\n", "te": "# so\n2\n",
		"tr.npy": string(array(t, []int64{0, 3})), "va.npy": string(array(t, []bool{false, true, false, false})),
		"tm": "True\nFalse\nfalse\ntrue\n", "column.csv": "train\nval\ntest\ntraining\n", "ids.csv": "node,part\n3,train\n0,train\n2,test\n1,valid\n",
		"named": "ann,bob\nbob,cyd\ncyd,dan\n", "ny": "id,y\nann,1\nbob,0\ncyd,1\ndan,0\n", "ntr": "ann\ndan\n", "nva": "name\nbob\n", "nte": "cyd\n", "typo.csv": "ann,trian\nbob,val\n",
		"nids.csv": "name,part\nann,train\nbob,val\ncyd,test\ndan,train\n", "nodes": "ann\nbob\ncyd\ndan\n",
		"spaced": "ann lee,bob\nbob,cyd\ncyd,dan\n", "sy": "id,y\nann lee,1\nbob,0\ncyd,1\ndan,0\n", "str": "ann lee\ndan\n",
		"one": "1,2\n2,3\n3,4\n", "tr1": "1\n4\n", "tr1.npy": string(array(t, []int64{1, 4})), "va1": "2\n", "te1": "3\n",
		"minus": "-1\n0\n3\n", "point": "0.5\n0\n3\n", "nminus": "-1\nann\ndan\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		write(t, dir+"/"+name, []byte(text))
	}
	if err := parquet.WriteFile(dir+"/two.parquet", []struct{ Node, Train string }{{"0", "true"}, {"3", "false"}}); err != nil {
		t.Fatal(err)
	}
	at := func(spec string) string { return "edges:" + strings.ReplaceAll(spec, "D", dir) }
	sorted := func(s Split) Split {
		for _, part := range s.parts() {
			slices.Sort(part)
		}
		return s
	}
	for _, spec := range []string{
		"D/e?labels=D/y&train=D/tr&valid=D/va&test=D/te", "D/e?labels=D/y&train=D/tr.npy&valid=D/va.npy&test=D/te",
		"D/e?labels=D/y&split=D/ids.csv",
		"D/named?labels=D/ny&train=D/ntr&valid=D/nva&test=D/nte", "D/named?labels=D/ny&split=D/nids.csv",
		"D/named?labels=D/ny&nodes=D/nodes&train=D/ntr&valid=D/va.npy&test=D/nte",
		"D/one?labels=D/y&ids=from-1&train=D/tr1&valid=D/va1&test=D/te1", "D/one?labels=D/y&ids=from-1&train=D/tr1.npy&valid=D/va1&test=D/te1",
		"D/one?labels=D/y&ids=from-1&train=D/tr1&valid=D/va.npy&test=D/te1", "D/spaced?labels=D/sy&train=D/str&valid=D/nva&test=D/nte",
	} {
		if d := open(t, at(spec)); !cmp.Equal(sorted(d.Split), want) {
			t.Errorf("%s: %v", spec, d.Split)
		}
	}
	for spec, words := range map[string]string{
		"D/e?labels=D/y&split=D/column.csv":                               "column.csv: 1 columns, want a node id and",
		"D/e?labels=D/y&train=D/tm":                                       `tm:1: "True" is not a node`,
		"D/named?labels=D/ny&train=D/va.npy":                              "nodes=FILE",
		"D/named?labels=D/ny&split=D/typo.csv":                            `typo.csv:1: "trian", want train`,
		"D/e?labels=D/y&train=D/two.parquet":                              "two.parquet: 2 columns, want",
		"D/e?labels=D/y&train=D/nva":                                      `nva:1: "name" is not a node of the graph of 4 nodes; line 2: "bob"`,
		"D/e?labels=D/y&train=D/minus":                                    `minus:1: "-1" is not a node of the graph of 4 nodes`,
		"D/e?labels=D/y&train=D/point":                                    `point:1: "0.5" is not a node of the graph of 4 nodes`,
		"D/e?labels=D/y&train=D/tr&valid=D/minus":                         `minus:1: "-1" is not a node of the graph of 4 nodes`,
		"D/named?labels=D/ny&train=D/nminus":                              `nminus:1: "-1" is not a node of the graph of 4 nodes`,
		"D/e?labels=D/y&valid=D/va":                                       "need train=FILE",
		"D/e?labels=D/y&split=1/1/1&train=D/tr":                           "both split and train",
		"D/e?labels=D/y&split=60/20/20&train=D/tr&seed=1":                 "both split and train",
		"D/e?labels=D/y&split=D/ids.csv&seed=1":                           "seed is for random splits",
		"D/e?labels=D/y&split=D/nids.csv":                                 "is not a node",
		"D/e?labels=D/y&split=D/y":                                        "y: 1 columns, want",
		"D/e?labels=D/y&train=D/tr&valid=D/tr":                            "is in the train set already",
		"D/one?labels=D/y&ids=from-1&train=D/tr.npy&valid=D/va&test=D/te": "is node 0, which is not in the graph",
		"D/e?labels=D/y&split=a,b":                                        "TRAIN/VALID/TEST",
		"D/e?labels=D/y&split=":                                           "TRAIN/VALID/TEST",
	} {
		expectError(t, at(spec), words)
	}
}

// Split files replace the split of any format.
func TestSplitFilesOfFormats(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	writeFiles(t, dir, npyFiles(t, d))
	write(t, dir+"/mine", []byte("3\n4\n"))
	store := writeStoreFile(t, d)
	for _, spec := range []string{"npy:" + dir, "store:" + store} {
		if got := open(t, spec+"?train="+dir+"/mine"); !cmp.Equal(got.Split.Train, []int32{3, 4}) || len(got.Split.Test) != 0 {
			t.Errorf("%s: %v", spec, got.Split)
		}
	}
}

// A stratified split has the shares of each class within two nodes. It is the same for the
// same seed.
func TestStratified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SliceOfN(rapid.Int32Range(-1, 3), 1, 200).Draw(t, "class")
		shares := [3]float64{rapid.Float64Range(1, 9).Draw(t, "train"), rapid.Float64Range(0, 9).Draw(t, "valid"), rapid.Float64Range(0, 9).Draw(t, "test")}
		deal := func() Split {
			d := &Data{Graph: &graph.CSR{Rows: len(class)}, Labels: &graph.Labels{Classes: 4, Class: class}}
			if err := d.dealStratified(shares, rand.New(rand.NewPCG(1, 2))); err != nil {
				t.Fatal(err)
			}
			return d.Split
		}
		s := deal()
		if !cmp.Equal(s, deal()) {
			t.Fatal("another split with the same seed")
		}
		total := shares[0] + shares[1] + shares[2]
		sizes := map[int32]float64{}
		for _, c := range class {
			sizes[c]++
		}
		seen := make([]bool, len(class))
		for p, part := range s.parts() {
			counts := map[int32]float64{}
			for _, i := range part {
				if seen[i] || class[i] < 0 {
					t.Fatalf("node %d twice, or without a class", i)
				}
				seen[i] = true
				counts[class[i]]++
			}
			for c := range int32(4) {
				if want := sizes[c] * shares[p] / total; counts[c] < want-2 || counts[c] > want+2 {
					t.Fatalf("part %d has %v of the %v nodes of class %d, want about %.1f", p, counts[c], sizes[c], c, want)
				}
			}
		}
		if n := len(s.Train) + len(s.Valid) + len(s.Test); n != len(class)-int(sizes[-1]) {
			t.Fatalf("%d nodes in the split", n)
		}
	})
}

// The key stratify chooses it, and is refused where there is nothing random.
func TestStratifyKey(t *testing.T) {
	in := edgeListFiles(t, map[string]string{"e": pathEdges, "y": "1\n0\n1\n0\n"})
	d := open(t, strings.TrimSuffix(in("D/e?labels=D/y"), "&split=1/1/1")+"&split=1/0/1&stratify=1")
	if len(d.Split.Train) != 2 || d.Labels.Class[d.Split.Train[0]] == d.Labels.Class[d.Split.Train[1]] || !strings.Contains(strings.Join(d.Notes, "\n"), "stratified by class") {
		t.Errorf("split %v, notes %q", d.Split, d.Notes)
	}
	made, dir := made(t, 20, 1), t.TempDir()
	writeFiles(t, dir, npyFiles(t, made))
	expectError(t, "npy:"+dir+"?stratify=1", "stratify is for random splits")
}
