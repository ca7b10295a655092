package datasets

import (
	"path/filepath"
	"strings"
	"testing"
)

// An exported folder is the data again, and converts to a store without holding it in
// memory.
func TestWriteOGB(t *testing.T) {
	for variant, text := range []string{"synth:papers100M?nodes=3000&features=5", "synth:proteins?nodes=300&edges=900", "synth:demo?nodes=50"} {
		want := open(t, text)
		dir := filepath.Join(t.TempDir(), "folder")
		source := writeStoreFile(t, want)
		for range 2 { // the second replaces the first
			spec, err := Convert(t.Context(), "store:"+source, "ogb:"+dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got := open(t, spec)
			if variant != 1 {
				got.Labels.Classes = want.Labels.Classes // the highest ones may have no node
			}
			sameData(t, got, want)
		}
		path := filepath.Join(dir, "x.store")
		if _, err := Convert(t.Context(), "ogb:"+dir, path, Options{}); err != nil {
			t.Fatal(err)
		}
		got := open(t, "store:"+path)
		got.Labels.Classes = want.Labels.Classes
		sameData(t, got, want)
	}
	directed := madeVariant(t, 30, 1, 0)
	directed.Directed = true
	spec, err := Convert(t.Context(), "store:"+writeStoreFile(t, directed), "ogb:"+t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sameData(t, open(t, spec), directed)
	scored := open(t, "synth:reddit?nodes=300&edges=900&features=4&classes=2")
	if spec, err = Convert(t.Context(), "store:"+writeStoreFile(t, scored), "ogb:"+t.TempDir(), Options{}); err != nil {
		t.Fatal(err)
	}
	sameData(t, open(t, spec), scored) // its metric is not the usual one
	for what, d := range map[string]*Data{"weights": madeVariant(t, 30, 1, 1), "a single binary task": oneTaskOf(t)} {
		dir := t.TempDir()
		if err := WriteOGB(t.Context(), dir, d); err == nil || !strings.Contains(err.Error(), what) || !isMissing(filepath.Join(dir, "raw")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func oneTaskOf(t *testing.T) *Data {
	d := made(t, 30, 1)
	classes := make([]int32, 30)
	for i := range classes {
		classes[i] = int32(i % 2)
	}
	d.Labels, d.Metric = oneTask(classes), ROCAUC
	return d
}
