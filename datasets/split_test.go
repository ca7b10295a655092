package datasets

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
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
			slices.Sort(*part)
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
