package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/npy"
)

// writeSciPy writes a binary CSR matrix as scipy.sparse.save_npz does.
func writeSciPy(t *testing.T, file string, cols int, rows [][]int32) {
	t.Helper()
	ptr, idx := []int64{0}, []int32{}
	for _, row := range rows {
		idx = append(idx, row...)
		ptr = append(ptr, int64(len(idx)))
	}
	ones := make([]float32, len(idx))
	for k := range ones {
		ones[k] = 1
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	add := func(key string, write func(w *bytes.Buffer) error) {
		var content bytes.Buffer
		w, err := z.Create(key + ".npy")
		if err == nil {
			err = write(&content)
		}
		if err == nil {
			_, err = w.Write(content.Bytes())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("indptr", func(w *bytes.Buffer) error { return npy.Write(w, ptr, len(ptr)) })
	add("indices", func(w *bytes.Buffer) error { return npy.Write(w, idx, len(idx)) })
	add("data", func(w *bytes.Buffer) error { return npy.Write(w, ones, len(ones)) })
	add("shape", func(w *bytes.Buffer) error { return npy.Write(w, []int64{int64(len(rows)), int64(cols)}, 2) })
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, b.Bytes())
}

// Sparse features go from files through a store to training, evaluation and predictions, and
// the run says how large they are.
func TestSparseFeatures(t *testing.T) {
	t.Chdir(t.TempDir())
	const n, cols = 60, 90
	var edges, labels strings.Builder
	var rows [][]int32
	for i := range n {
		fmt.Fprintf(&edges, "%d,%d\n%d,%d\n", i, (i+1)%n, i, (i+5)%n)
		fmt.Fprintf(&labels, "%d\n", i%3)
		rows = append(rows, []int32{int32(i % 3), int32(3 + i), int32(70 + i%20)})
	}
	writeFile(t, "e", []byte(edges.String()))
	writeFile(t, "l", []byte(labels.String()))
	writeSciPy(t, "x.npz", cols, rows)
	const spec = "edges:e?labels=l&features=x.npz"
	succeed(t, "datasets", "convert", spec+"&sparse=1", "x.store")
	args := []string{"--samples", "16,16", "--max-batches", "20", "--hidden", "8"}
	train := func(spec, run string, more ...string) output {
		return succeed(t, append(append([]string{"train", "--data", spec, "--out", run}, args...), more...)...)
	}
	const size = "features sparse: 180 of 60×90 values, 0.0 MB; dense they take 0.0 MB (sparse=0)"
	if out := train("store:x.store", "sparse"); !strings.Contains(out.stderr, size) {
		t.Errorf("the run says\n%s", out.stderr)
	}
	if out := train(spec+"&sparse=0", "dense"); strings.Contains(out.stderr, "sparse:") {
		t.Errorf("a run with dense features says\n%s", out.stderr)
	}
	train("store:x.store", "exact", "--exact-input", "--samples", "16")
	for _, run := range []string{"sparse", "dense", "exact"} {
		succeed(t, "eval", "--run", run)
	}
	// The model of one form reads the other.
	succeed(t, "predict", "--run", "sparse", "--out", "a.npy", "--logits")
	succeed(t, "predict", "--run", "sparse", "--data", spec+"&sparse=0", "--out", "b.npy", "--logits")
	a, b := readScores(t, "a.npy", n, 3), readScores(t, "b.npy", n, 3)
	for k, v := range a {
		if d := v - b[k]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("score %d is %v, of dense features %v", k, v, b[k])
		}
	}
	fail(t, exitFailed, []string{"float16", "sparse=0"}, "datasets", "convert", "store:x.store", "y.store", "--features", "float16")
}
