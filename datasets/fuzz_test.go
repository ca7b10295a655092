package datasets

import (
	"archive/zip"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/npy/npytest"
)

// Each fuzz target damages one file of a good data set. The reader must return an
// error, or data that pass Validate. A panic or a huge allocation ends the target.

// tryOpen opens a SPEC. It accepts an error of one line, or valid data.
func tryOpen(t *testing.T, spec string) {
	t.Helper()
	d, err := Open(context.Background(), spec, Options{})
	if err != nil {
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
		return
	}
	if err := d.Validate(); err != nil {
		t.Errorf("invalid data: %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	d := made(f, 12, 1)
	files := npyFiles(f, d)
	mask := make([]bool, d.Nodes())
	for _, i := range d.Split.Train {
		mask[i] = true
	}
	files["train.npy"] = array(f, mask)
	files["data.npy"] = array(f, slices.Repeat([]float32{0.5}, int(d.Graph.NNZ())))
	names := []string{"indptr.npy", "indices.npy", "feat.npy", "labels.npy", "train.npy", "valid.npy", "test.npy", "data.npy", "names.npy", "classes.npy"}
	files["names.npy"] = npytest.Texts("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")
	files["classes.npy"] = npytest.Texts("x", "y", "z")
	for k, name := range names {
		f.Add(byte(k), files[name])
	}
	f.Add(byte(3), npytest.Texts("x", "y", "z", "x", "", "nan", "x", "y", "z", "x", "y", "2"))
	f.Add(byte(4), npytest.Texts("a", "l", "c"))
	f.Add(byte(3), objectArray)
	f.Add(byte(2), fmt.Appendf(nil, "\x93NUMPY\x01\x00\x76\x00%-117s\n", "{'descr': '<f4', 'fortran_order': True, 'shape': (0, 1000000000000000000)}"))
	f.Fuzz(func(t *testing.T, which byte, content []byte) {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		write(t, filepath.Join(dir, names[int(which)%len(names)]), content)
		tryOpen(t, "npy:"+dir)
	})
}

func FuzzNPZ(f *testing.F) {
	bench, hetero := benchmarkMembers(f, made(f, 12, 1)), heterophilousMembers(f, made(f, 12, 1))
	add := func(members map[string][]byte, layout byte) {
		for name, content := range members {
			f.Add(layout, name, content)
		}
	}
	add(bench, 0)
	add(hetero, 1)
	f.Fuzz(func(t *testing.T, layout byte, name string, content []byte) {
		members := map[string][]byte{}
		for n, c := range [...]map[string][]byte{bench, hetero}[layout%2] {
			members[n] = c
		}
		members[name] = content
		file := filepath.Join(t.TempDir(), "fuzz.npz")
		write(t, file, archive(t, zip.Store, members))
		tryOpen(t, "npz:"+file)
	})
}

func FuzzPlanetoid(f *testing.F) {
	files := planetoidFiles(f, made(f, 12, 1))
	parts := []string{"x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"}
	for k, part := range parts {
		f.Add(byte(k), files["ind.made."+part])
	}
	f.Fuzz(func(t *testing.T, which byte, content []byte) {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		write(t, filepath.Join(dir, "ind.made."+parts[int(which)%len(parts)]), content)
		tryOpen(t, "planetoid:"+dir+"/made")
	})
}

func FuzzOGB(f *testing.F) {
	texts := ogbTexts(made(f, 12, 1))
	names := []string{"raw/num-node-list", "raw/edge", "raw/node-feat", "raw/node-label", "split/sometime/train", "split/sometime/valid"}
	for k, name := range names {
		f.Add(byte(k), true, []byte(texts[name]))
	}
	f.Add(byte(1), false, zipped(f, texts["raw/edge"]))
	files := map[string][]byte{}
	for name, text := range texts {
		files[name+".csv.gz"] = []byte(text) // plain text is read too, and faster
	}
	f.Fuzz(func(t *testing.T, which byte, compress bool, content []byte) {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		if compress {
			content = zipped(t, string(content))
		}
		write(t, filepath.Join(dir, filepath.FromSlash(names[int(which)%len(names)])+".csv.gz"), content)
		tryOpen(t, "ogb:"+dir)
	})
}

func FuzzOGBBinary(f *testing.F) {
	d := made(f, 12, 1)
	arcs := arcsOf(d, 1)
	ends := make([]int64, 2*len(arcs))
	for k, e := range arcs {
		ends[k], ends[len(arcs)+k] = int64(e.U), int64(e.V)
	}
	data := map[string][]byte{
		"edge_index": array(f, ends, 2, len(arcs)), "node_feat": array(f, d.Features.Data, 12, d.Features.Cols),
		"num_nodes_list": array(f, []int64{12}), "num_edges_list": array(f, []int64{int64(len(arcs))}),
	}
	labels := make([]float32, 12)
	keys := []string{"edge_index", "node_feat", "num_nodes_list", "num_edges_list", "node_label"}
	for k, key := range keys {
		f.Add(byte(k), data[key])
	}
	f.Add(byte(4), array(f, labels, 12, 1))
	f.Fuzz(func(t *testing.T, which byte, content []byte) {
		dir := t.TempDir()
		members, label, key := maps.Clone(data), array(t, labels, 12, 1), keys[int(which)%len(keys)]
		if key == "node_label" {
			label = content
		} else {
			members[key] = content
		}
		write(t, filepath.Join(dir, "raw", "data.npz"), archive(t, zip.Store, members))
		write(t, filepath.Join(dir, "raw", "node-label.npz"), archive(t, zip.Deflate, map[string][]byte{"node_label": label}))
		for name, ids := range map[string][]int32{"train": d.Split.Train, "valid": d.Split.Valid, "test": d.Split.Test} {
			write(t, filepath.Join(dir, "split", "x", name+".csv.gz"), []byte(column(ids)))
		}
		tryOpen(t, "ogb:"+dir)
	})
}

func FuzzTools(f *testing.F) {
	d := made(f, 12, 1)
	layouts := []struct {
		spec  string
		files map[string][]byte
		names []string
	}{
		{"saint:D/", saintFiles(f, d), []string{"feats.npy", "class_map.json", "role.json"}},
		{"sage:D/made", sageFiles(f, d), []string{"made-G.json", "made-id_map.json", "made-class_map.json", "made-feats.npy"}},
		{"edges:D/edges.csv?labels=D/labels.csv&features=D/features.csv", edgeFiles(d), []string{"edges.csv", "labels.csv", "features.csv"}},
		{"edges:D/edges.csv?labels=D/labels.json&features=D/f.json&header=1&split=1/1/1", edgeFiles(d), []string{"edges.csv", "labels.json", "f.json"}},
	}
	layouts = append(layouts, layouts[2])
	layouts[4].spec += "&weights=1"
	layouts[4].files = map[string][]byte{"edges.csv": []byte("0,1,0.5\n1,2,3e1\n"), "labels.csv": layouts[2].files["labels.csv"], "features.csv": layouts[2].files["features.csv"]}
	layouts = append(layouts, layouts[2])
	layouts[5].spec = "edges:D/edges.csv?columns=b,a&labels=D/labels.csv&labels-columns=id,k&features=D/features.csv&features-columns=id,y"
	layouts[5].files = map[string][]byte{
		"edges.csv": []byte("a;x;b\n0;\"1;2\";1\n1;;2\n"), "labels.csv": []byte("k,id\nu,0\nv,1\n"), "features.csv": []byte("id,x,y\n0,1,2\n1,3,4\n2,5,6\n"),
	}
	layouts[3].files["labels.json"] = []byte(`{"0": ["x", "a"], "2": ["a"], "3": [], "4": ["b"]}`)
	layouts[3].files["f.json"] = []byte(`{"0": [2], "4": [0, 1]}`)
	for l, layout := range layouts {
		for k, name := range layout.names {
			f.Add(byte(l), byte(k), layout.files[name])
		}
	}
	f.Add(byte(0), byte(1), []byte(`{"0": null, "1": [1, null], "1": 2}`))
	f.Add(byte(0), byte(1), []byte(`{"0": "x", "1": "y", "2": ""}`))
	f.Add(byte(0), byte(2), []byte(`{"tr": null, "tr": [null]}`))
	f.Add(byte(1), byte(0), []byte(`{"nodes": [{"id": null, "id": 1, "val": null, "test": true}], "links": null}`))
	f.Add(byte(2), byte(1), []byte("\ufeffa\nb\n\ufeffa\n"))
	f.Add(byte(2), byte(1), []byte("id\tkind\n0\tnan\n1\t2.5\n2\t\n3\t1e3\n"))
	f.Add(byte(2), byte(1), []byte("kind\n\"\"\n2.5\n"))
	f.Add(byte(3), byte(1), []byte(`{"0": [0, 0, 1], "1": [1, 1, 0]}`))
	f.Add(byte(3), byte(1), []byte(`{"0": [0, 1], "1": [1, 0]}`))
	f.Fuzz(func(t *testing.T, which, file byte, content []byte) {
		layout := layouts[int(which)%len(layouts)]
		dir := t.TempDir()
		writeFiles(t, dir, layout.files)
		write(t, filepath.Join(dir, layout.names[int(file)%len(layout.names)]), content)
		tryOpen(t, strings.ReplaceAll(layout.spec, "D/", dir+"/"))
	})
}

// FuzzCoordinates damages the members of a SciPy matrix in either form.
func FuzzCoordinates(f *testing.F) {
	d := made(f, 12, 1)
	files := dglRedditFiles(f, d)
	csr := sciPyMembers(f, d)
	coo := map[string][]byte{"row": array(f, []int64{0, 1}), "col": array(f, []int64{1, 0}), "shape": array(f, []int64{12, 12})}
	for k, members := range []map[string][]byte{csr, coo} {
		for name, content := range members {
			f.Add(byte(k), name, content)
		}
	}
	f.Fuzz(func(t *testing.T, form byte, name string, content []byte) {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		members := map[string][]byte{}
		for n, c := range []map[string][]byte{csr, coo}[form%2] {
			members[n] = c
		}
		members[name] = content
		write(t, filepath.Join(dir, "reddit_graph.npz"), archive(t, zip.Store, members))
		tryOpen(t, "dgl-reddit:"+dir)
	})
}

func FuzzSpec(f *testing.F) {
	f.Add("synth:demo?nodes=100&edges=200&seed=3")
	f.Add("npz:no such file?split=1/2/3&normalize=row")
	f.Add("cora")
	f.Add("npy:a?b=%zz")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := parseSpec(text)
		if err != nil {
			return
		}
		if spec.String() != text || spec.Path == "" {
			t.Errorf("%q parsed as %+v", text, spec)
		}
		scheme, err := findScheme(spec, Options{})
		if err != nil || spec.check(scheme.Keys) != nil {
			return
		}
		if spec.Scheme == "synth" {
			if m, err := synthFromSpec(spec); err == nil && (m.Nodes < 1 || m.Train < 1 || m.Train+m.Valid > m.Nodes || m.Edges > int64(m.Nodes)*int64(m.Nodes-1)/2) {
				t.Errorf("%q: model %+v", text, m)
			}
		}
	})
}

// FuzzNamedFiles damages one file of an edge list of names: the edges, the nodes, labels,
// features, and the files of a split, for every way to read them.
func FuzzNamedFiles(f *testing.F) {
	files := map[string][]byte{
		"e": []byte("ann bob {'weight': 2.0}\nbob cyd {'weight': 1}\ncyd dan {}\n"), "n": []byte("id\nann\nbob\n\"cyd\"\ndan\n"), "l": []byte("id,kind\nann,x\nbob,y\ncyd,\ndan,x\n"),
		"f": []byte("ann,1,2\nbob,3,4\ncyd,5,6\ndan,7,8\n"), "s.csv": []byte("id,part\nann,train\nbob,val\ndan,test\n"), "t": []byte("ann\nbob\n"), "m": []byte("True\nFalse\nFalse\nTrue\n"),
		"p.npy": array(f, []bool{true, false, false, true}), "y.npy": array(f, []int64{0, 1, -1, 0}), "x.npy": array(f, []float32{1, 2, 3, 4}, 4, 1),
	}
	names := []string{"e", "n", "l", "f", "s.csv", "t", "m", "p.npy", "y.npy", "x.npy"}
	specs := []string{
		"e?weights=0&labels=D/l&features=D/f&split=D/s.csv", "e?weights=1&nodes=D/n&labels=D/l&features=D/x.npy&train=D/m", "e?nodes=D/n&labels=D/y.npy&features=D/f&train=D/p.npy&weights=0&directed=in",
		"e?weights=0&labels=D/l&train=D/t&features=degree", "e?labels=D/l&ids=from-1&split=1/1/1", "e?labels=D/l&ids=names&header=1&directed=out&weights=0",
	}
	for k, name := range names {
		for s := range specs {
			f.Add(byte(k), byte(s), files[name])
		}
	}
	for _, text := range []string{"a,b\nc,d\n", "\"a\",\"b\n", "a b {'weight': }\n", "1 2 {'weight': 1e99}\n", "source,target,weight\n1,2\n", "ann\"\n\"\n", " \n{}\n", "a {}\n"} {
		f.Add(byte(0), byte(1), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which, spec byte, content []byte) {
		dir := t.TempDir()
		writeFiles(t, dir, files)
		write(t, filepath.Join(dir, names[int(which)%len(names)]), content)
		tryOpen(t, "edges:"+dir+"/"+strings.ReplaceAll(specs[int(spec)%len(specs)], "D", dir))
	})
}
