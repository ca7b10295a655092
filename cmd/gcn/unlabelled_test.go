package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gcn-layerwise/gcn/train"
)

// A trained model predicts a graph without labels as it predicts the graph with them.
// Training on such a graph, and scoring it, are errors.
func TestPredictWithoutLabels(t *testing.T) {
	t.Chdir(t.TempDir())
	writeRing(t, "ring")
	args := []string{"-q", "--samples", "4,4", "--max-batches", "2"}
	succeed(t, append([]string{"train", "--data", "npy:ring", "--out", "run"}, args...)...)
	copyFolder(t, "ring", "bare")
	for _, name := range []string{"labels", "train", "valid", "test"} {
		if err := os.Remove(filepath.Join("bare", name+".npy")); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, "datasets", "info", "npy:bare")
	writeFile(t, "empty.csv", nil)
	fail(t, exitFailed, []string{"empty.csv", "no nodes"}, "datasets", "info", "edges:empty.csv")
	succeed(t, "predict", "--run", "run", "--out", "with.npy", "--logits")
	succeed(t, "predict", "--run", "run", "--out", "without.npy", "--logits", "--data", "npy:bare")
	if !bytes.Equal(readFile(t, "with.npy"), readFile(t, "without.npy")) {
		t.Error("the labels of the graph change the predictions")
	}
	fail(t, exitFailed, []string{"no labels", "labels.npy", "predict"}, append([]string{"train", "--data", "npy:bare"}, args...)...)
	fail(t, exitFailed, []string{"npy:bare", "no labels"}, "eval", "--run", "run", "--data", "npy:bare")
	fail(t, exitFailed, []string{"split needs labels"}, "predict", "--run", "run", "--out", "x.npy", "--data", "npy:bare?split=1/1/1")
	fail(t, exitFailed, []string{"no labels"}, "datasets", "convert", "npy:bare", "bare.store")
}

// The run's schema.json states the classes and their names.
func TestClassNamesOfARun(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "e.csv", []byte("0,1\n1,2\n2,3\n3,4\n4,5\n5,0\n"))
	writeFile(t, "l.csv", []byte("id,kind\n0,bee\n1,ant\n2,bee\n3,ant\n4,bee\n5,ant\n"))
	succeed(t, "train", "--data", "edges:e.csv?labels=l.csv&split=2/1/1", "--out", "run", "-q", "--samples", "4,4", "--max-batches", "2")
	s, err := train.ReadSchema("run")
	if err != nil || s.Classes != 2 || !slices.Equal(s.Names, []string{"ant", "bee"}) {
		t.Errorf("schema %+v: %v", s, err)
	}
}
