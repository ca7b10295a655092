package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gcn-layerwise/gcn/graph"
)

// expectError opens a SPEC that must fail with one line that holds every part.
func expectError(t *testing.T, spec string, parts ...string) error {
	t.Helper()
	d, err := Open(context.Background(), spec, Options{})
	if err == nil {
		t.Fatalf("%s opened: %d nodes", spec, d.Nodes())
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("error of several lines: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q\nlacks %q", err, part)
		}
	}
	return err
}

func without[V any](files map[string]V, name string) map[string]V {
	delete(files, name)
	return files
}

func TestBadNPY(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		change func(files map[string][]byte, d *Data)
		want   []string
	}{
		"missing part of the split": {func(f map[string][]byte, d *Data) { delete(f, "valid.npy") },
			[]string{"valid.npy", "no such file"}},
		"short mask": {func(f map[string][]byte, d *Data) {
			f["train.npy"] = array(t, make([]bool, d.Nodes()-1))
		}, []string{"train.npy: 19 rows in node order for 20 nodes"}},
		"too few weights": {func(f map[string][]byte, d *Data) {
			f["data.npy"] = array(t, []float32{2})
		}, []string{"CSR has 1 values for"}},
		"negative weight": {func(f map[string][]byte, d *Data) {
			weights := slices.Repeat([]float64{1}, len(d.Graph.Idx))
			weights[5] = -2
			f["data.npy"] = array(t, weights)
		}, []string{"element 5: graph: edge (2, 6) has weight -2, want positive and finite"}},
		"truncated": {func(f map[string][]byte, d *Data) { f["indices.npy"] = f["indices.npy"][:150] },
			[]string{"indices.npy: holds 22 bytes of data"}},
		"truncated in the header": {func(f map[string][]byte, d *Data) { f["feat.npy"] = f["feat.npy"][:30] },
			[]string{"feat.npy: ends within the header"}},
		"index out of range": {func(f map[string][]byte, d *Data) {
			d.Graph.Idx[3] = 20
			f["indices.npy"] = array(t, d.Graph.Idx)
		}, []string{"graph: CSR row 1, entry 3: column 20 outside [0, 20)"}},
		"negative index": {func(f map[string][]byte, d *Data) {
			d.Graph.Idx[0] = -1
			f["indices.npy"] = array(t, d.Graph.Idx)
		}, []string{"{indptr,indices,data}: graph: CSR row 1, entry 0: column -1 outside [0, 20)"}},
		"indptr not monotone": {func(f map[string][]byte, d *Data) {
			d.Graph.Ptr[4] = d.Graph.Ptr[20] + 1
			f["indptr.npy"] = array(t, d.Graph.Ptr)
		}, []string{"CSR row offset 5 is"}},
		"indptr too short": {func(f map[string][]byte, d *Data) {
			f["indptr.npy"] = array(t, d.Graph.Ptr[:20])
		}, []string{"last row offset is 87, but it stores 92"}},
		"indptr empty": {func(f map[string][]byte, d *Data) {
			f["indptr.npy"] = array(t, []int64{})
		}, []string{"CSR of 0 rows has 0 row offsets, want 1"}},
		"indptr is a matrix": {func(f map[string][]byte, d *Data) {
			f["indptr.npy"] = array(t, d.Graph.Ptr[:20], 10, 2)
		}, []string{"indptr.npy: shape [10 2], want one dimension"}},
		"NaN feature": {func(f map[string][]byte, d *Data) {
			d.Features.Data[4*7+2] = nan
			f["feat.npy"] = array(t, d.Features.Data, 20, 4)
		}, []string{"feat.npy: graph: feature 2 of node 7 is NaN"}},
		"infinite feature": {func(f map[string][]byte, d *Data) {
			d.Features.Data[0] = float32(math.Inf(-1))
			f["feat.npy"] = array(t, d.Features.Data, 20, 4)
		}, []string{"feat.npy: graph: feature 0 of node 0 is -Inf"}},
		"features of other nodes": {func(f map[string][]byte, d *Data) {
			f["feat.npy"] = array(t, d.Features.Data[:76], 19, 4)
		}, []string{"feat.npy: shape [19 4], want (20, features)"}},
		"no features": {func(f map[string][]byte, d *Data) {
			f["feat.npy"] = array(t, []float32{}, 20, 0)
		}, []string{"feat.npy: shape [20 0]"}},
		"label out of range": {func(f map[string][]byte, d *Data) {
			d.Labels.Class[5] = -2
			f["labels.npy"] = array(t, d.Labels.Class)
		}, []string{"labels.npy: graph: label of node 5 is -2"}},
		"label far out of range": {func(f map[string][]byte, d *Data) {
			f["labels.npy"] = array(t, append(make([]int64, 19), 1<<40))
		}, []string{"labels.npy: label of node 19 is 1.0995116e+12, want a whole number"}},
		"labels of floats": {func(f map[string][]byte, d *Data) {
			f["labels.npy"] = array(t, append(make([]float32, 19), 0.5))
		}, []string{"labels.npy: label of node 19 is 0.5, want a whole number"}},
		"task label out of range": {func(f map[string][]byte, d *Data) {
			y := make([]float32, 40)
			y[5] = 0.5
			f["labels.npy"] = array(t, y, 20, 2)
		}, []string{"labels.npy: graph: label of node 2, task 1 is 0.5"}},
		"no labels at all": {func(f map[string][]byte, d *Data) {
			for i := range d.Labels.Class {
				d.Labels.Class[i] = -1
			}
			f["labels.npy"] = array(t, d.Labels.Class)
		}, []string{"labels.npy: no labels"}},
		"training node without a label": {func(f map[string][]byte, d *Data) {
			d.Labels.Class[d.Split.Train[1]] = -1
			f["labels.npy"] = array(t, d.Labels.Class)
		}, []string{"train node 1", "has no label"}},
		"overlapping splits": {func(f map[string][]byte, d *Data) {
			d.Split.Test[0] = d.Split.Train[2]
			f["test.npy"] = array(t, d.Split.Test)
		}, []string{"test node 0", "is in the train set already"}},
		"node twice in a split": {func(f map[string][]byte, d *Data) {
			d.Split.Valid[1] = d.Split.Valid[0]
			f["valid.npy"] = array(t, d.Split.Valid)
		}, []string{"valid node 1", "is in the valid set already"}},
		"split node out of range": {func(f map[string][]byte, d *Data) {
			d.Split.Valid[1] = 20
			f["valid.npy"] = array(t, d.Split.Valid)
		}, []string{"valid.npy: element 1 is node 20"}},
		"empty training set": {func(f map[string][]byte, d *Data) {
			f["train.npy"] = array(t, []int64{})
		}, []string{"the training set is empty"}},
		"not a NumPy file": {func(f map[string][]byte, d *Data) { f["train.npy"] = []byte("0\n1\n2\n3\n4\n5\n") },
			[]string{"train.npy: starts with"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := made(t, 20, 1), t.TempDir()
			files := npyFiles(t, d)
			c.change(files, d)
			writeFiles(t, dir, files)
			expectError(t, "npy:"+dir, append(c.want, dir)...)
		})
	}
}

func TestBadNPZ(t *testing.T) {
	type members = map[string][]byte
	for name, c := range map[string]struct {
		make func(d *Data) members
		want []string
	}{
		"empty archive":   {func(d *Data) members { return nil }, []string{"neither gnn-benchmark's layout"}},
		"no labels":       {func(d *Data) members { return without(benchmarkMembers(t, d), "labels") }, []string{"no labels, which training needs (labels)"}},
		"no column shape": {func(d *Data) members { return without(benchmarkMembers(t, d), "attr_shape") }, []string{`no array "attr_shape"`}},
		"not square": {func(d *Data) members {
			m := benchmarkMembers(t, d)
			m["adj_shape"] = array(t, []int64{20, 21})
			return m
		}, []string{"bad.npz: adjacency matrix is 20×21"}},
		"shape of other size": {func(d *Data) members {
			m := benchmarkMembers(t, d)
			m["adj_shape"] = array(t, []int64{19, 19})
			return m
		}, []string{"adj_{indptr,indices,data}: graph: CSR of 19 rows has 21 row offsets"}},
		"huge shape": {func(d *Data) members {
			m := benchmarkMembers(t, d)
			m["attr_shape"] = array(t, []int64{20, 1 << 30})
			return m
		}, []string{"1073741824 columns of features", "too sparse"}},
		"values missing": {func(d *Data) members {
			m := benchmarkMembers(t, d)
			m["attr_data"] = array(t, []float32{1})
			return m
		}, []string{"attr_{indptr,indices,data}: graph: CSR has 1 values for"}},
		"no masks": {func(d *Data) members { return without(heterophilousMembers(t, d), "val_masks") }, []string{`no array "val_masks"`}},
		"edges of three": {func(d *Data) members {
			m := heterophilousMembers(t, d)
			m["edges"] = array(t, make([]int64, 9), 3, 3)
			return m
		}, []string{"edges: shape [3 3], want (edges, 2)"}},
		"edge out of range": {func(d *Data) members {
			m := heterophilousMembers(t, d)
			m["edges"] = array(t, []int64{0, 1, 2, 20}, 2, 2)
			return m
		}, []string{"edges: element 1: graph: edge (2, 20) outside [0, 20)"}},
		"masks of other size": {func(d *Data) members {
			m := heterophilousMembers(t, d)
			m["train_masks"] = array(t, make([]bool, 38), 2, 19)
			return m
		}, []string{"train_masks: shape [2 19], want (splits, 20)"}},
		"objects": {func(d *Data) members {
			m := heterophilousMembers(t, d)
			m["node_features"] = bytes.Replace(m["node_features"], []byte("'<f4'"), []byte("'|O' "), 1)
			return m
		}, []string{"node_features: element type \"|O\" is of Python objects"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bad.npz")
			write(t, file, archive(t, zip.Deflate, c.make(made(t, 20, 1))))
			expectError(t, "npz:"+file, append(c.want, file)...)
		})
	}
	t.Run("cut short", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "bad.npz")
		content := archive(t, zip.Deflate, benchmarkMembers(t, made(t, 20, 1)))
		write(t, file, content[:len(content)-30])
		expectError(t, "npz:"+file, file, "not a .npz archive")
	})
	t.Run("split out of range", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "good.npz")
		write(t, file, archive(t, zip.Deflate, heterophilousMembers(t, made(t, 20, 1))))
		expectError(t, "npz:"+file+"?split=2", "split=2: want an integer in [0, 1], or shares such as 60/20/20")
		expectError(t, "npz:"+file+"?split=60/x/20", "TRAIN/VALID/TEST, three shares")
		expectError(t, "npz:"+file+"?split=0/1/1", "the first above 0")
		expectError(t, "npz:"+file+"?seed=3", "seed is for random splits")
	})
}

func TestBadOGB(t *testing.T) {
	for name, c := range map[string]struct {
		file, from, to string // replaced once in the text of the file
		want           string
	}{
		"edge out of range":       {"raw/edge", "", "3,20\n", "raw/edge.csv.gz:1: edge (3, 20) outside [0, 20)"},
		"edge of one":             {"raw/edge", "", "3\n", `raw/edge.csv.gz:1: "3" is not two node ids`},
		"edge of letters":         {"raw/edge", "", "3,x\n", `raw/edge.csv.gz:1: "3,x" is not two node ids`},
		"negative node":           {"raw/edge", "", "-3,1\n", `"-3,1" is not two node ids`},
		"short row":               {"raw/node-feat", "\n", "\n1,2\n", "raw/node-feat.csv.gz:2: \"1,2\" has 2 fields, and the first line of data has 4"},
		"feature of letters":      {"raw/node-feat", "\n", "\n1,2,x,4\n", `raw/node-feat.csv.gz:2: column 3, "x", is not a finite number`},
		"too many rows":           {"raw/node-label", "", "1\n", "raw/node-label.csv.gz:21: more lines than the 20 expected"},
		"label of a fraction":     {"raw/node-label", "0\n", "0.5\n", `raw/node-label.csv.gz:1: column 1, "0.5", is not a class, a whole number in [0, 65536), or -1 or nan for unknown`},
		"labels of words":         {"raw/node-label", "", "0\nred\n\n-2\n65536\n", `raw/node-label.csv.gz:2: column 1, "red", is not a class, a whole number in [0, 65536), or -1 or nan for unknown; in several columns 0, 1 or nan; line 4: column 1, "-2", is not`},
		"a task of two":           {"raw/node-label", "", strings.Repeat("0,nan\n", 4) + "1,2\n", `raw/node-label.csv.gz:5: column 2, "2", is not a class`},
		"nodes are letters":       {"raw/num-node-list", "20", "xx", `raw/num-node-list.csv.gz:1: column 1, "xx", is not a number`},
		"several graphs":          {"raw/num-node-list", "20", "20\n20", "num-node-list.csv.gz: not one number of nodes"},
		"other number of nodes":   {"raw/num-node-list", "20", "21", "raw/node-label.csv.gz: 20 lines for 21 nodes"},
		"absurd number of nodes":  {"raw/num-node-list", "20", "2000000000", "raw/node-label.csv.gz: "},
		"too many nodes":          {"raw/num-node-list", "20", "3000000000", `"3000000000", is not a number in`},
		"split node out of range": {"split/sometime/valid", "", "20\n", `split/sometime/valid.csv.gz:1: column 1, "20", is not a node in [0, 20)`},
		"split of letters":        {"split/sometime/train", "", "all\n", `train.csv.gz:1: column 1, "all", is not a node`},
		"empty features":          {"raw/node-feat", "", "\n", "raw/node-feat.csv.gz:21: more lines than the 20 expected"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, texts := t.TempDir(), ogbTexts(made(t, 20, 1))
			texts[c.file] = strings.Replace(texts[c.file], c.from, c.to, 1)
			writeTexts(t, dir, texts)
			expectError(t, "ogb:"+dir, filepath.FromSlash(c.want), dir)
		})
	}
	t.Run("NaN feature", func(t *testing.T) {
		dir, texts := t.TempDir(), ogbTexts(made(t, 20, 1))
		rows := strings.SplitAfter(texts["raw/node-feat"], "\n")
		rows[6] = "0,0,nan,0\n"
		texts["raw/node-feat"] = strings.Join(rows, "")
		writeTexts(t, dir, texts)
		expectError(t, "ogb:"+dir, `node-feat.csv.gz:7: column 3, "nan", is not a finite number`)
	})
	t.Run("missing files", func(t *testing.T) {
		dir, texts := t.TempDir(), ogbTexts(made(t, 20, 1))
		delete(texts, "raw/node-label")
		writeTexts(t, dir, texts)
		err := expectError(t, "ogb:"+dir, filepath.FromSlash("raw/node-label.csv.gz: incomplete OGB folder"))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v does not wrap fs.ErrNotExist", err)
		}
	})
	t.Run("no folder", func(t *testing.T) { expectError(t, "ogb:"+t.TempDir(), "no raw folder in it") })
	t.Run("gzip cut short", func(t *testing.T) {
		dir, texts := t.TempDir(), ogbTexts(made(t, 20, 1))
		writeTexts(t, dir, texts)
		content := zipped(t, texts["raw/edge"])
		write(t, filepath.Join(dir, "raw", "edge.csv.gz"), content[:len(content)/2])
		expectError(t, "ogb:"+dir, "edge.csv.gz: after line", "packed data cut short")
	})
	t.Run("gzip damaged", func(t *testing.T) {
		dir, texts := t.TempDir(), ogbTexts(made(t, 20, 1))
		writeTexts(t, dir, texts)
		content := zipped(t, texts["raw/edge"])
		content[len(content)-5] ^= 1 // in the checksum
		write(t, filepath.Join(dir, "raw", "edge.csv.gz"), content)
		expectError(t, "ogb:"+dir, "edge.csv.gz", "checksum")
	})
}

func TestBadPlanetoid(t *testing.T) {
	type files = map[string][]byte
	for name, c := range map[string]struct {
		change func(f files, d *Data)
		want   []string
	}{
		"missing file":     {func(f files, d *Data) { delete(f, "ind.made.ty") }, []string{"ind.made.ty", "no such file"}},
		"truncated pickle": {func(f files, d *Data) { f["ind.made.allx"] = f["ind.made.allx"][:200] }, []string{"ind.made.allx: byte ", "the file ends within the pickle"}},
		"truncated at an opcode": {func(f files, d *Data) {
			f["ind.made.graph"] = bytes.TrimSuffix(f["ind.made.graph"], []byte("."))
		}, []string{"ind.made.graph: byte ", "the file ends within the pickle"}},
		"other class": {func(f files, d *Data) {
			f["ind.made.graph"] = []byte("\x80\x02cos\nsystem\n(U\x04true" + "tR.")
		}, []string{`ind.made.graph: byte 2: class "system" of module "os" is not read`}},
		"class that registers others": {func(f files, d *Data) {
			f["ind.made.graph"] = []byte("\x80\x02ccopy_reg\nadd_extension\n.")
		}, []string{`class "add_extension" of module "copy_reg" is not read`}},
		"instance": {func(f files, d *Data) {
			f["ind.made.graph"] = []byte("\x80\x02(ios\nsystem\n.")
		}, []string{"byte 3: opcode 0x69, which data do not need"}},
		"persistent id": {func(f files, d *Data) { f["ind.made.graph"] = []byte("\x80\x02Pabc\n.") }, []string{"opcode 0x50"}},
		"frame":         {func(f files, d *Data) { f["ind.made.graph"] = []byte("\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f") }, []string{"the file ends within the pickle"}},
		"long string":   {func(f files, d *Data) { f["ind.made.graph"] = []byte("T\xff\xff\xff\x7fabc.") }, []string{"byte 0: the file ends within the pickle"}},
		"negative length": {func(f files, d *Data) { f["ind.made.graph"] = []byte("T\xff\xff\xff\xffabc.") },
			[]string{"byte 0: the file ends within the pickle"}},
		"marks": {func(f files, d *Data) { f["ind.made.graph"] = bytes.Repeat([]byte{'('}, 5000) }, []string{"byte 5000: the file ends within the pickle"}},
		"odd dictionary": {func(f files, d *Data) { f["ind.made.graph"] = []byte("}(K\x01u.") },
			[]string{"ind.made.graph: byte 4: the values before the opcode do not fit it"}},
		"list in itself": {func(f files, d *Data) { f["ind.made.graph"] = []byte("}(]q\x00h\x00a]u.") },
			[]string{"ind.made.graph: key 0: not a number of a node"}},
		"graph is a list":     {func(f files, d *Data) { f["ind.made.graph"] = []byte("].") }, []string{"ind.made.graph: not a dictionary"}},
		"matrix is a number":  {func(f files, d *Data) { f["ind.made.tx"] = []byte("K\x01.") }, []string{"ind.made.tx: not a SciPy CSR matrix"}},
		"labels are a number": {func(f files, d *Data) { f["ind.made.ty"] = []byte("K\x01.") }, []string{"ind.made.ty: not an array"}},
		"neighbour out of range": {func(f files, d *Data) {
			f["ind.made.graph"] = graphPickle(20, []graph.Edge{{U: 3, V: 4}, {U: 3, V: 20}})
		}, []string{"ind.made.graph: node 3: neighbour 1: 20 is not a node in [0, 20)"}},
		"array of other size": {func(f files, d *Data) {
			p := newPickler()
			p.array("i4", make([]byte, 16), 5, 3)
			f["ind.made.ty"] = p.end()
		}, []string{"ind.made.ty: holds 16 bytes of data, but <i4 of shape [5 3] takes 60"}},
		"array of objects": {func(f files, d *Data) {
			p := newPickler()
			p.array("O8", nil, 5, 3)
			f["ind.made.ty"] = p.end()
		}, []string{`ind.made.ty: element type "<O8" is of Python objects`}},
		"not one-hot": {func(f files, d *Data) {
			p := newPickler()
			p.array("i4", little([]int32{0, 1, 1}), 1, 3)
			f["ind.made.y"] = p.end()
		}, []string{"ind.made.y: row 0 is not one-hot at class 2"}},
		"values without numbers": {func(f files, d *Data) {
			p := newPickler()
			p.class("scipy.sparse.csr", "csr_matrix")
			p.WriteString(")\x81}(")
			p.text("_shape")
			p.tuple(1, 4)
			p.text("data") // made, and never filled
			p.class("numpy.core.multiarray", "_reconstruct")
			p.WriteByte('(')
			p.class("numpy", "ndarray")
			p.tuple(0)
			p.WriteString("U\x01btR")
			p.text("indices")
			p.array("i4", little([]int32{0}), 1)
			p.text("indptr")
			p.array("i4", little([]int32{0, 1}), 2)
			p.WriteString("ub")
			f["ind.made.allx"] = p.end()
		}, []string{"ind.made.allx: data: not an array of numbers"}},
		"NaN feature": {func(f files, d *Data) {
			d.Features.Data[0] = float32(math.NaN())
			d.Features.Rows, d.Features.Data = 15, d.Features.Data[:60]
			f["ind.made.allx"] = matrixPickle(d.Features)
		}, []string{"ind.made.allx: {indptr,indices,data}: graph: CSR row 0, entry 0: value NaN"}},
		"rows disagree":          {func(f files, d *Data) { f["ind.made.tx"] = f["ind.made.allx"] }, []string{"ind.made.ty: 5 rows, but tx has 15"}},
		"test node twice":        {func(f files, d *Data) { f["ind.made.test.index"] = []byte("15\n16\n16\n18\n19\n") }, []string{"test.index: node 16 is there twice"}},
		"test node in allx":      {func(f files, d *Data) { f["ind.made.test.index"] = []byte("14\n16\n17\n18\n19\n") }, []string{"test.index: node 14 is among the 15 rows of allx"}},
		"test node out of range": {func(f files, d *Data) { f["ind.made.test.index"] = []byte("20\n16\n17\n18\n19\n") }, []string{"test.index: node 20 outside [0, 20)"}},
		"test node of letters":   {func(f files, d *Data) { f["ind.made.test.index"] = []byte("15\nx\n17\n18\n19\n") }, []string{`test.index:2: column 1, "x", is not a node in`}},
		"training node without a label": {func(f files, d *Data) {
			f["ind.made.ally"] = oneHotPickle(append([]int32{-1}, d.Labels.Class[1:15]...), 3)
		}, []string{"train node 0 (id 0) has no label"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, dir := made(t, 20, 1), t.TempDir()
			f := planetoidFiles(t, d)
			c.change(f, d)
			writeFiles(t, dir, f)
			expectError(t, "planetoid:"+dir+"/made", append(c.want, "made")...)
		})
	}
	t.Run("no name", func(t *testing.T) { expectError(t, "planetoid:"+t.TempDir()+"/", "no name after the folder") })
}

// A cancelled context stops a reader.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	writeTexts(t, dir, ogbTexts(made(t, 20, 1)))
	for _, spec := range []string{"ogb:" + dir, "synth:demo"} {
		if _, err := Open(ctx, spec, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// Every reader checks its context while it reads, and stops at any check.
func TestCancelledWhileReading(t *testing.T) {
	d := made(t, 20, 1)
	edges := edgeFiles(d)
	edges["labels.json"] = []byte(jsonClasses(d.Labels.Class))
	for _, c := range []struct {
		spec  string // D is the folder
		files map[string][]byte
		least int // times that the context is looked at
	}{
		{"npy:D/", npyFiles(t, d), 7},
		{"npz:D/a.npz", map[string][]byte{"a.npz": archive(t, zip.Deflate, benchmarkMembers(t, d))}, 7},
		{"npz:D/a.npz", map[string][]byte{"a.npz": archive(t, zip.Deflate, heterophilousMembers(t, d))}, 6},
		{"planetoid:D/made", planetoidFiles(t, d), 7},
		{"saint:D/", saintFiles(t, d), 6},
		{"sage:D/made", sageFiles(t, d), 4},
		{"dgl-reddit:D/", dglRedditFiles(t, d), 6},
		{"edges:D/edges.csv?labels=D/labels.json", edges, 3},
	} {
		dir := t.TempDir()
		writeFiles(t, dir, c.files)
		spec := strings.ReplaceAll(c.spec, "D/", dir+"/")
		whole := &countdown{Context: context.Background(), left: 1 << 30}
		if _, err := Open(whole, spec, Options{}); err != nil {
			t.Fatal(err)
		}
		looks := 1<<30 - whole.left
		if looks < c.least {
			t.Errorf("%s: the context was looked at %d times, want %d", c.spec, looks, c.least)
		}
		for left := range looks {
			if _, err := Open(&countdown{Context: context.Background(), left: left}, spec, Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: done after %d of %d looks: %v", c.spec, left, looks, err)
			}
		}
	}
}

// countdown is a context that is done after left calls of Err.
type countdown struct {
	context.Context
	mu   sync.Mutex
	left int
}

func (c *countdown) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}
