package datasets

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy/npytest"
)

// objectArray is the start of an array of Python objects, as np.save writes an array of
// strings and None.
var objectArray = append([]byte("\x93NUMPY\x01\x00\x76\x00"), "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }"+strings.Repeat(" ", 61)+"\n\x80\x04."...)

// Classes and ids of nodes are texts in a folder of arrays: they are kept, also by a store.
func TestNamesInArrays(t *testing.T) {
	d := made(t, 20, 1)
	files, classes, ids := npyFiles(t, d), make([]string, 20), make([]string, 20)
	for i := range classes {
		classes[i], ids[i] = []string{"violet", "amber", "green"}[i%3], "node "+string(rune('a'+i))
	}
	classes[4], classes[7] = "", "nan"
	files["labels.npy"], files["names.npy"] = npytest.Texts(classes...), npytest.Texts(ids...)
	files["train.npy"] = npytest.Texts(ids[3], ids[0], ids[1], ids[2])
	files["valid.npy"], files["test.npy"] = npytest.Texts(ids[5]), npytest.Texts(ids[6])
	dir := t.TempDir()
	writeFiles(t, dir, files)
	read := open(t, "npy:"+dir)
	if !cmp.Equal(read.Labels.Names, []string{"amber", "green", "violet"}) || !cmp.Equal(namesOf(read), ids) || !cmp.Equal(read.Split.Train, []int32{3, 0, 1, 2}) {
		t.Errorf("classes %q, ids %q, training nodes %v", read.Labels.Names, namesOf(read), read.Split.Train)
	}
	for i, c := range read.Labels.Class {
		want := classes[i]
		if i == 4 || i == 7 {
			want = ""
		}
		if got := ""; c >= 0 {
			if got = read.Labels.Name(int(c)); got != want {
				t.Errorf("node %d has the class %q, want %q", i, got, want)
			}
		} else if want != "" {
			t.Errorf("node %d has no class, want %q", i, want)
		}
	}
	if !strings.Contains(strings.Join(read.Notes, "\n"), "3 kinds of labels") {
		t.Errorf("notes %q", read.Notes)
	}
	again := filepath.Join(t.TempDir(), "again")
	if _, err := Convert(context.Background(), "npy:"+dir, again, Options{}); err != nil {
		t.Fatal(err)
	}
	if back := open(t, "store:"+again); !cmp.Equal(back.Labels, read.Labels) || !cmp.Equal(namesOf(back), ids) || !cmp.Equal(back.Split, read.Split) {
		t.Errorf("converted: labels %+v, ids %q", back.Labels, namesOf(back))
	}
}

// Names that do not fit are errors that name the file and the place.
func TestBadNamesInArrays(t *testing.T) {
	d := made(t, 20, 1)
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = string(rune('a' + i))
	}
	twice, empty := slices.Clone(ids), slices.Clone(ids)
	twice[7], empty[7] = "c", ""
	for name, c := range map[string]struct {
		file    string
		content []byte
		want    []string
	}{
		"ids, too few":            {"names.npy", npytest.Texts("a", "b"), []string{"names.npy: 2 names for 20 nodes"}},
		"ids, twice":              {"names.npy", npytest.Texts(twice...), []string{"names.npy: element 7: \"c\" is there twice"}},
		"ids, empty":              {"names.npy", npytest.Texts(empty...), []string{"names.npy: element 7: the name is empty"}},
		"ids, booleans":           {"names.npy", array(t, make([]bool, 20)), []string{"names.npy: booleans"}},
		"classes, one name":       {"classes.npy", npytest.Texts("x", "y", "x"), []string{"classes.npy: element 2: \"x\" is there twice"}},
		"classes, too few":        {"classes.npy", npytest.Texts("x", "y"), []string{"classes.npy: 2 names for 3 classes"}},
		"split, unknown ids":      {"train.npy", npytest.Texts(ids...), []string{"train.npy: names of nodes, but the folder has no names.npy"}},
		"labels, a matrix":        {"labels.npy", bytes.Replace(npytest.Texts(ids...), []byte("(20,), }  "), []byte("(10, 2), }"), 1), []string{"labels.npy"}},
		"labels, Python objects":  {"labels.npy", objectArray, []string{"labels.npy", "Python objects", "str(v) for v in y"}},
		"labels, without a class": {"labels.npy", npytest.Texts(make([]string, 20)...), []string{"labels.npy: no labels"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := npyFiles(t, d)
			files[c.file] = c.content
			writeFiles(t, dir, files)
			expectError(t, "npy:"+dir, c.want...)
		})
	}
	dir := t.TempDir()
	files := npyFiles(t, d)
	files["classes.npy"] = npytest.Texts("x", "y", "z", "unused")
	writeFiles(t, dir, files)
	if read := open(t, "npy:"+dir); !cmp.Equal(read.Labels.Names, []string{"x", "y", "z", "unused"}) || read.Labels.Classes != 4 {
		t.Errorf("%d classes, %q", read.Labels.Classes, read.Labels.Names)
	}
}

// Arrays of texts lie beside an edge list: labels, the names of the nodes and the split.
func TestTextArraysBesideEdges(t *testing.T) {
	in := edgeListFiles(t, map[string]string{
		"e": "ann,bob\nbob,cyd\ncyd,dan\n", "n.npy": string(npytest.Texts("dan", "cyd", "bob", "ann")), "y.npy": string(npytest.Texts("x", "y", "", "x")),
		"t.npy": string(npytest.Texts("ann", "dan")), "v.npy": string(npytest.Texts("cyd")), "bad.npy": string(npytest.Texts("eve")), "o.npy": string(objectArray),
		"twice.npy": string(npytest.Texts("ann", "ann")), "n.csv": "id\ndan\ncyd\nbob\nann\n", "z.csv": "0,1\n1,2\n2,3\n",
	})
	d := open(t, strings.TrimSuffix(in("D/e?nodes=D/n.npy&labels=D/y.npy&train=D/t.npy&valid=D/v.npy"), "&split=1/1/1"))
	want := &graph.Labels{Classes: 2, Class: []int32{0, 1, -1, 0}, Names: []string{"x", "y"}}
	if !cmp.Equal(d.Labels, want) || !cmp.Equal(namesOf(d), []string{"dan", "cyd", "bob", "ann"}) || !cmp.Equal(d.Split.Train, []int32{3, 0}) || !cmp.Equal(d.Split.Valid, []int32{1}) {
		t.Errorf("labels %+v, ids %q, split %v", d.Labels, namesOf(d), d.Split)
	}
	if d := open(t, in("D/z.csv?labels=D/y.npy")); !cmp.Equal(d.Labels, want) {
		t.Errorf("numbered nodes: labels %+v", d.Labels)
	}
	expectError(t, strings.TrimSuffix(in("D/e?nodes=D/n.csv&labels=D/y.npy&train=D/bad.npy"), "&split=1/1/1"), `bad.npy: element 0 is node "eve", which`)
	expectError(t, in("D/e?nodes=D/n.csv&labels=D/o.npy"), "o.npy", "Python objects")
	expectError(t, in("D/e?nodes=D/twice.npy&labels=D/y.npy"), `twice.npy: element 1: "ann" is there twice`)
}

// Names in class_map.json are classes, in the order of their names.
func TestClassMapNames(t *testing.T) {
	d := made(t, 12, 1)
	for scheme, files := range map[string]map[string][]byte{"saint:D": saintFiles(t, d), "sage:D/made": sageFiles(t, d)} {
		name := "class_map.json"
		if _, there := files[name]; !there {
			name = "made-class_map.json"
		}
		numbers := string(files[name])
		for k, class := range []string{"rose", "iris", "aster"} {
			for _, end := range []string{",", "}"} {
				numbers = strings.ReplaceAll(numbers, ": "+string(rune('0'+k))+end, `: "`+class+`"`+end)
				numbers = strings.ReplaceAll(numbers, ":"+string(rune('0'+k))+end, `:"`+class+`"`+end)
			}
		}
		dir := t.TempDir()
		plain := strings.ReplaceAll(scheme, "D", dir)
		writeFiles(t, dir, files)
		before := open(t, plain)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(numbers), 0o600); err != nil {
			t.Fatal(err)
		}
		named := open(t, plain)
		if !cmp.Equal(named.Labels.Names, []string{"aster", "iris", "rose"}) {
			t.Fatalf("%s: %q of %s", scheme, named.Labels.Names, numbers)
		}
		for i, c := range before.Labels.Class {
			if got, want := named.Labels.Name(int(named.Labels.Class[i])), []string{"rose", "iris", "aster"}[c]; got != want {
				t.Errorf("%s: node %d is %q, want %q", scheme, i, got, want)
			}
		}
	}
}
