package datasets

import (
	"archive/zip"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gcn-layerwise/gcn/graph"
)

func open(t testing.TB, spec string) *Data {
	t.Helper()
	d, err := Open(context.Background(), spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sameData compares all that files hold.
func sameData(t testing.TB, got, want *Data) {
	t.Helper()
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"graph", got.Graph, want.Graph},
		{"features", got.Features, want.Features},
		{"labels", got.Labels, want.Labels},
		{"split", got.Split, want.Split},
		{"metric", got.Metric, want.Metric},
		{"names of nodes", got.NodeNames, want.NodeNames},
	} {
		if diff := cmp.Diff(part.want, part.got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(graph.Features{}, "Release")); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", part.name, diff)
		}
	}
}

func TestRoundTrips(t *testing.T) {
	for seed := range uint64(5) {
		n := 10 + int(seed)*37
		t.Run("npy", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, npyFiles(t, d))
			sameData(t, open(t, "npy:"+dir), d)
		})
		t.Run("npz gnn-benchmark", func(t *testing.T) {
			for _, method := range []uint16{zip.Store, zip.Deflate} {
				d, file := made(t, n, seed), filepath.Join(t.TempDir(), "made.npz")
				write(t, file, archive(t, method, benchmarkMembers(t, d)))
				got := open(t, "npz:"+file)
				if len(got.Split.Train) != int(math.Round(0.6*float64(n))) || len(got.Split.Valid) != int(math.Round(0.2*float64(n))) {
					t.Errorf("split %d/%d/%d of %d nodes", len(got.Split.Train), len(got.Split.Valid), len(got.Split.Test), n)
				}
				d.Split = got.Split
				sameData(t, got, d)
			}
		})
		t.Run("npz gnn-benchmark, dense features", func(t *testing.T) {
			d, file := made(t, n, seed), filepath.Join(t.TempDir(), "made.npz")
			members := benchmarkMembers(t, d)
			for _, part := range []string{"indptr", "indices", "data", "shape"} {
				delete(members, "attr_"+part)
			}
			members["attr_matrix"] = array(t, d.Features.Data, n, d.Features.Cols)
			write(t, file, archive(t, zip.Store, members))
			got := open(t, "npz:"+file)
			d.Split = got.Split
			sameData(t, got, d)
		})
		t.Run("npz heterophilous", func(t *testing.T) {
			d, file := made(t, n, seed), filepath.Join(t.TempDir(), "made.npz")
			write(t, file, archive(t, zip.Deflate, heterophilousMembers(t, d)))
			sameData(t, open(t, "npz:"+file+"?split=1"), d)
		})
		t.Run("npz heterophilous, binary", func(t *testing.T) {
			d, file := made(t, n, seed), filepath.Join(t.TempDir(), "made.npz")
			for i := range d.Labels.Class {
				d.Labels.Class[i] = int32(i % 2)
			}
			write(t, file, archive(t, zip.Deflate, heterophilousMembers(t, d)))
			d.Labels = oneTask(d.Labels.Class)
			d.Metric = ROCAUC
			sameData(t, open(t, "npz:"+file+"?split=1"), d)
		})
		t.Run("ogb", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeTexts(t, dir, ogbTexts(d))
			sameData(t, open(t, "ogb:"+dir), d)
		})
		t.Run("planetoid", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, planetoidFiles(t, d))
			sameData(t, open(t, "planetoid:"+dir+"/made"), d)
		})
		t.Run("planetoid, missing nodes", func(t *testing.T) {
			d, dir := made(t, n, seed), t.TempDir()
			writeFiles(t, dir, planetoidFiles(t, d, int32(n-2)))
			got := open(t, "planetoid:"+dir+"/made")
			sameData(t, got, d)
			if !strings.Contains(strings.Join(got.Notes, "; "), "1 nodes without a row") {
				t.Errorf("notes %q do not mention the missing node", got.Notes)
			}
		})
	}
}

// The arrays of a file with both directions, sorted, become the graph. A file in any
// other order goes through the builder. Both give the same graph.
func TestUnsortedPattern(t *testing.T) {
	d, dir := made(t, 40, 3), t.TempDir()
	files := npyFiles(t, d)
	idx := append([]int32{}, d.Graph.Idx...)
	for i := range d.Nodes() {
		row := idx[d.Graph.Ptr[i]:d.Graph.Ptr[i+1]]
		for a, b := 0, len(row)-1; a < b; a, b = a+1, b-1 {
			row[a], row[b] = row[b], row[a]
		}
	}
	files["indices.npy"] = array(t, widen(idx))
	writeFiles(t, dir, files)
	got := open(t, "npy:"+dir)
	sameData(t, got, d)
	if got.Report.Given != d.Graph.NNZ() || got.Report.Edges != d.Edges() || got.Report.Duplicates != d.Edges() {
		t.Errorf("report %+v for %d entries", got.Report, d.Graph.NNZ())
	}
}

func TestMultiLabels(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	files := npyFiles(t, d)
	multi := make([]float32, 20*3)
	for k := range multi {
		multi[k] = float32(k % 2)
	}
	multi[7] = float32(math.NaN())
	files["labels.npy"] = array(t, multi, 20, 3)
	writeFiles(t, dir, files)
	got := open(t, "npy:"+dir)
	if got.Labels.Tasks != 3 || got.Metric != ROCAUC || got.Labels.Multi[5] != 1 || !math.IsNaN(float64(got.Labels.Multi[7])) {
		t.Errorf("labels %+v, metric %s", got.Labels, got.Metric)
	}

	texts := ogbTexts(d)
	texts["raw/node-label"] = strings.ReplaceAll(matrixLines(multi, 3), "NaN", "nan")
	writeTexts(t, dir, texts)
	if diff := cmp.Diff(got.Labels, open(t, "ogb:"+dir).Labels, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("ogb labels differ from npy's:\n%s", diff)
	}
}

// A column of bytes or floats is one binary task, a column of wider integers
// holds classes.
func TestLabelColumn(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	files := npyFiles(t, d)
	ones := make([]int64, 20)
	bytes := make([]uint8, 20)
	for i := range ones {
		ones[i], bytes[i] = int64(i%2), uint8(i%2)
	}
	files["labels.npy"] = array(t, bytes, 20, 1)
	writeFiles(t, dir, files)
	if y := open(t, "npy:"+dir).Labels; y.Tasks != 1 || y.Multi[1] != 1 {
		t.Errorf("bytes: %+v", y)
	}
	files["labels.npy"] = array(t, ones, 20, 1)
	writeFiles(t, dir, files)
	if y := open(t, "npy:"+dir).Labels; y.Classes != 2 || y.Class[1] != 1 {
		t.Errorf("int64: %+v", y)
	}
}

// A test node whose row of labels is zero is left out of the split.
func TestPlanetoidUnlabelledTestNode(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	files := planetoidFiles(t, d)
	ty := make([]int32, 5)
	ty[0] = -1
	files["ind.made.ty"] = oneHotPickle(ty, 3)
	writeFiles(t, dir, files)
	got := open(t, "planetoid:"+dir+"/made")
	if len(got.Split.Test) != 4 || !strings.Contains(strings.Join(got.Notes, "; "), "1 nodes of the public split left out") {
		t.Errorf("test set %v, notes %q", got.Split.Test, got.Notes)
	}
}

// Without node features, a node gets the mean of the features of its edges. Here: a
// path 0–1–2 with edge features (1, 2) and (3, 6).
func TestOGBEdgeFeatures(t *testing.T) {
	dir := t.TempDir()
	writeTexts(t, dir, map[string]string{
		"raw/num-node-list": "4\n", "raw/edge": "0,1\n2,1\n", "raw/edge-feat": "1,2\n3,6\n",
		"raw/node-label": "0,1\n1,0\n1,nan\n0,0\n",
		"split/s/train":  "0\n", "split/s/valid": "1\n", "split/s/test": "2\n3\n",
	})
	got := open(t, "ogb:"+dir)
	if want := []float32{1, 2, 2, 4, 3, 6, 0, 0}; !cmp.Equal(got.Features.Data, want) {
		t.Errorf("features %v, want %v", got.Features.Data, want)
	}
}

// A heterogeneous folder in ogbn-mag's layout gives the papers and their citations.
func TestOGBHeterogeneous(t *testing.T) {
	d, dir := made(t, 30, 9), t.TempDir()
	writeTexts(t, dir, map[string]string{
		"raw/num-node-dict":                          "author,paper\n5,30\n",
		"raw/triplet-type-list":                      "author,writes,paper\npaper,cites,paper\n",
		"raw/nodetype-has-label":                     "author,paper\nFalse,True\n",
		"raw/relations/author___writes___paper/edge": "0,1\n",
		"raw/relations/paper___cites___paper/edge":   arcLines(arcsOf(d, 1), ","),
		"raw/node-feat/paper/node-feat":              matrixLines(d.Features.Data, 4),
		"raw/node-label/paper/node-label":            column(d.Labels.Class),
		"split/time/nodetype-has-split":              "author,paper\nFalse,True\n",
		"split/time/paper/train":                     column(d.Split.Train),
		"split/time/paper/valid":                     column(d.Split.Valid),
		"split/time/paper/test":                      column(d.Split.Test),
	})
	sameData(t, open(t, "ogb:"+dir), d)
}

func TestRandomSplitKeys(t *testing.T) {
	d, dir := made(t, 100, 1), t.TempDir()
	writeFiles(t, dir, npyFiles(t, d))
	a, b := open(t, "npy:"+dir+"?split=50/30/20&seed=5"), open(t, "npy:"+dir+"?split=50/30/20&seed=6")
	if len(a.Split.Train) != 50 || len(a.Split.Valid) != 30 || len(a.Split.Test) != 20 {
		t.Errorf("split %d/%d/%d, want 50/30/20", len(a.Split.Train), len(a.Split.Valid), len(a.Split.Test))
	}
	if cmp.Equal(a.Split, b.Split) {
		t.Error("seeds 5 and 6 give the same split")
	}
	if again := open(t, "npy:"+dir+"?split=50/30/20&seed=5"); !cmp.Equal(a.Split, again.Split) {
		t.Error("one seed gives two splits")
	}
}

func TestNormalizeRow(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	d.Features.Data = append(make([]float32, 4), d.Features.Data[4:]...)
	copy(d.Features.Data[4:], []float32{1, -2, 0, 5})
	writeFiles(t, dir, npyFiles(t, d))
	got := open(t, "npy:"+dir+"?normalize=row")
	if want := []float32{0, 0, 0, 0, 0.125, -0.25, 0, 0.625}; !cmp.Equal(got.Features.Data[:8], want) {
		t.Errorf("rows 0 and 1 %v, want %v", got.Features.Data[:8], want)
	}
}

const shared = "../../shared/data/"

// The real files, with the counts that their SOURCE.md states.
func TestSharedFiles(t *testing.T) {
	for _, c := range []struct {
		spec               string
		nodes, features    int
		edges, given       int64
		classes, tasks     int
		train, valid, test int
		metric             Metric
		unlabelled         int
	}{
		{spec: "planetoid:" + shared + "cora-planetoid/cora", nodes: 2708, edges: 5278, given: 10858, features: 1433, classes: 7, train: 140, valid: 500, test: 1000, metric: Accuracy},
		{spec: "planetoid:" + shared + "citeseer-planetoid/citeseer", nodes: 3327, edges: 4552, given: 9464, features: 3703, classes: 6, train: 120, valid: 500, test: 1000, metric: Accuracy, unlabelled: 15},
		{spec: "npz:" + shared + "cora-gnnbench/cora.npz", nodes: 2708, edges: 5278, given: 5429, features: 1433, classes: 7, train: 1625, valid: 542, test: 541, metric: Accuracy},
		{spec: "npz:" + shared + "tolokers/tolokers.npz", nodes: 11758, edges: 519000, given: 519000, features: 10, tasks: 1, train: 5879, valid: 2939, test: 2940, metric: ROCAUC},
		{spec: "npz:" + shared + "tolokers/tolokers.npz?split=9", nodes: 11758, edges: 519000, given: 519000, features: 10, tasks: 1, train: 5879, valid: 2939, test: 2940, metric: ROCAUC},
	} {
		t.Run(c.spec, func(t *testing.T) {
			_, path, _ := strings.Cut(c.spec, ":")
			path, _, _ = strings.Cut(path, "?")
			if _, err := os.Stat(filepath.Dir(path)); err != nil {
				t.Skipf("real files are not here: %v", err)
			}
			d := open(t, c.spec)
			got := Describe(d)
			if got.Nodes != c.nodes || got.Edges != c.edges || got.Features != c.features || got.Classes != c.classes || got.Tasks != c.tasks || got.Metric != c.metric || got.Read.Given != c.given {
				t.Errorf("got %+v\nwant %+v", got, c)
			}
			if want := (SplitSizes{c.train, c.valid, c.test}); got.Split != want {
				t.Errorf("split %+v, want %+v", got.Split, want)
			}
			unlabelled := 0
			for i := range d.Nodes() {
				if !d.Labels.Known(i) {
					unlabelled++
				}
			}
			if unlabelled != c.unlabelled {
				t.Errorf("%d nodes without a label, want %d", unlabelled, c.unlabelled)
			}
		})
	}
}

// The two copies of Cora number their nodes differently, but hold the same
// graph and the same bags of words: degrees, feature sums and class sizes agree.
func TestTwoCorasAgree(t *testing.T) {
	if _, err := os.Stat(shared + "cora-gnnbench"); err != nil {
		t.Skipf("real files are not here: %v", err)
	}
	a, b := open(t, "planetoid:"+shared+"cora-planetoid/cora"), open(t, "npz:"+shared+"cora-gnnbench/cora.npz")
	profile := func(d *Data) map[[3]int]int {
		count := make(map[[3]int]int)
		size := make(map[int32]int)
		for _, c := range d.Labels.Class {
			size[c]++
		}
		for i := range d.Nodes() {
			var words int
			for _, v := range d.Features.Row(i) {
				if v != 0 {
					words++
				}
			}
			count[[3]int{d.Graph.Degree(i), words, size[d.Labels.Class[i]]}]++
		}
		return count
	}
	if diff := cmp.Diff(profile(a), profile(b)); diff != "" {
		t.Errorf("(degree, words, class size) differ:\n%s", diff)
	}
}

func TestPartialOGBFolder(t *testing.T) {
	dir := shared + "ogbn-arxiv-partial/ogbn_arxiv"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("real files are not here: %v", err)
	}
	_, err := Open(context.Background(), "ogb:"+dir, Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "raw/edge.csv.gz: incomplete OGB folder") {
		t.Errorf("got %v", err)
	}
}

// The report on self-loops and repeated edges in a file with both directions is the same
// as the builder's.
func TestTidyReport(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	files := npyFiles(t, d)
	files["indptr.npy"] = array(t, []int64{0, 3, 6, 9})
	files["indices.npy"] = array(t, []int32{1, 1, 0, 1, 0, 1, 2, 2, 2})
	files["feat.npy"] = array(t, d.Features.Data[:12], 3, 4)
	files["labels.npy"] = array(t, []int64{0, 1, 2})
	writeFiles(t, dir, files)
	got := open(t, "npy:"+dir+"?split=1/1/1")
	if want := (graph.Report{Given: 9, SelfLoops: 6, Edges: 1, Duplicates: 2}); got.Report != want {
		t.Errorf("report %+v, want %+v", got.Report, want)
	}
	if want := (&graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 2, 2}, Idx: []int32{1, 0}}); !cmp.Equal(got.Graph, want) {
		t.Errorf("graph %+v", got.Graph)
	}
}

// Weights beside the arrays are read, and masks are read as the nodes that they mark.
func TestWeightedNPY(t *testing.T) {
	d, dir := made(t, 20, 1), t.TempDir()
	files := npyFiles(t, d)
	d.Graph.Val = make([]float32, d.Graph.NNZ())
	for i := range d.Nodes() {
		for k, j := range d.Graph.Row(i) {
			d.Graph.RowValues(i)[k] = 1 + float32(i)*float32(j)/8
		}
	}
	files["data.npy"] = array(t, d.Graph.Val)
	for key, part := range map[string][]int32{"train": d.Split.Train, "valid": d.Split.Valid, "test": d.Split.Test} {
		mask := make([]bool, d.Nodes())
		for _, i := range part {
			mask[i] = true
		}
		slices.Sort(part)
		files[key+".npy"] = array(t, mask)
	}
	writeFiles(t, dir, files)
	got := open(t, "npy:"+dir)
	sameData(t, got, d)
	if notes := strings.Join(got.Notes, "; "); !strings.Contains(notes, "edges weighted") || strings.Contains(notes, "another weight") {
		t.Errorf("notes %q", notes)
	}
	// Of two weights the first counts, which is said.
	weights := make([]float32, d.Graph.NNZ())
	for k := range weights {
		weights[k] = float32(k + 1)
	}
	files["data.npy"] = array(t, weights)
	writeFiles(t, dir, files)
	got = open(t, "npy:"+dir)
	if notes := strings.Join(got.Notes, "; "); !strings.Contains(notes, "of repeated ones the first counts") {
		t.Errorf("notes %q", notes)
	}
	if got.Graph.Val[0] != 1 {
		t.Errorf("the first entry has weight %v, want 1", got.Graph.Val[0])
	}
}
