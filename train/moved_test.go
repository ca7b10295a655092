package train

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFolderMovesAway moves the folder of a run during training, and starts another run
// under the old name: the first one ends with an error, writes nothing there, and goes on at its
// new place.
func TestFolderMovesAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved there")
	}
	d := smallData(t, 100, 3)
	alone, other := short(), short()
	alone.Dir, alone.MaxBatches = filepath.Join(t.TempDir(), "run"), 28
	mustFit(t, smallModel(t, d), d, alone)
	other.Dir, other.Seed, other.MaxBatches = filepath.Join(t.TempDir(), "run"), 10, 14
	mustFit(t, smallModel(t, d), d, other)
	o := alone
	o.Dir = filepath.Join(t.TempDir(), "run")
	moved := o.Dir + "-moved"
	o.Progress = func(p Progress) {
		if p.Batch != 10 {
			return
		}
		if err := os.Rename(o.Dir, moved); err != nil {
			t.Error(err)
		}
		second := other
		second.Dir = o.Dir
		mustFit(t, smallModel(t, d), d, second)
	}
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), o.Dir) || !strings.Contains(err.Error(), "moved") {
		t.Errorf("%v", err)
	}
	if a, b := runFiles(t, o.Dir), runFiles(t, other.Dir); a != b {
		t.Errorf("the second run's folder holds\n%.2000s\nwant\n%.2000s", a, b)
	}
	o.Dir, o.Resume, o.Progress = moved, true, nil
	mustFit(t, smallModel(t, d), d, o)
	if a, b := runFiles(t, moved), runFiles(t, alone.Dir); a != b {
		t.Errorf("the first run's folder holds\n%.2000s\nwant\n%.2000s", a, b)
	}
}

// TestFolderIsRemoved removes the folder of a run during training.
func TestFolderIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open folder cannot be removed there")
	}
	d := smallData(t, 100, 3)
	for name, putBack := range map[string]bool{"gone": false, "another": true} {
		o := short()
		o.Dir = filepath.Join(t.TempDir(), name)
		o.Progress = func(p Progress) {
			if p.Batch != 10 {
				return
			}
			if err := os.RemoveAll(o.Dir); err != nil {
				t.Error(err)
			}
			if putBack {
				if err := os.Mkdir(o.Dir, 0o777); err != nil {
					t.Error(err)
				}
			}
		}
		h, err := Fit(context.Background(), smallModel(t, d), d, o)
		if !errors.Is(err, fs.ErrNotExist) || h.Batches != 14 || !strings.Contains(err.Error(), o.Dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
		if entries, _ := os.ReadDir(o.Dir); len(entries) > 0 {
			t.Errorf("%s: %v was written after the folder was removed", name, entries[0])
		}
	}
}

// TestLinksAreReplaced puts links to other files into a run's folder: resuming the run
// must replace the links, and leave these files unchanged.
func TestLinksAreReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right there")
	}
	d := smallData(t, 100, 3)
	o := short()
	o.Dir, o.MaxBatches = t.TempDir(), 14
	mustFit(t, smallModel(t, d), d, o)
	outside := t.TempDir()
	for _, name := range []string{bestFile, resultFile, configFile} {
		if err := errors.Join(os.Rename(filepath.Join(o.Dir, name), filepath.Join(outside, name)),
			os.Symlink(filepath.Join(outside, name), filepath.Join(o.Dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	// A hard link, as after a copy by cp -l: the copy must not change.
	if err := os.Link(filepath.Join(o.Dir, metricsFile), filepath.Join(outside, metricsFile)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{lastFile, "." + lastFile} {
		victim := filepath.Join(outside, "victim"+name)
		if err := errors.Join(os.WriteFile(victim, []byte("kept"), 0o666), os.Symlink(victim, filepath.Join(o.Dir, name+".part"))); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, outside)
	o.Resume, o.MaxBatches = true, 28
	if h := mustFit(t, smallModel(t, d), d, o); h.Resumed != 14 {
		t.Errorf("%+v", h)
	}
	if !equalFiles(contents(t, outside), before) {
		t.Error("files outside the run's folder changed")
	}
	for _, name := range []string{lastFile, bestFile, resultFile, configFile, metricsFile} {
		if info, err := os.Lstat(filepath.Join(o.Dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
}

// TestLoadNotFinite puts a NaN into a checkpoint with a right checksum.
func TestLoadNotFinite(t *testing.T) {
	d := smallData(t, 100, 3)
	o := short()
	o.Dir, o.MaxBatches = t.TempDir(), 14
	mustFit(t, smallModel(t, d), d, o)
	const want = `tensor "parameters/conv0.bias" has values that are not finite`
	for _, name := range []string{bestFile, lastFile} {
		path := filepath.Join(o.Dir, name)
		c, err := readCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		c.section(sectionParameters)[1].Values[5] = float32(math.NaN())
		if err := os.WriteFile(path, encoded(t, c), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadParameters(path, smallModel(t, d)); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	o.Resume, o.MaxBatches = true, 28
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); !errors.Is(err, ErrCheckpoint) || !strings.Contains(err.Error(), want) {
		t.Errorf("resuming: error %v, want one with %q", err, want)
	}
}

// TestBeginAndResult refuses a run with Begin, and writes result.json with Result.
func TestBeginAndResult(t *testing.T) {
	d := smallData(t, 100, 3)
	o := short()
	o.Dir, o.MaxBatches = t.TempDir(), 14
	mustFit(t, smallModel(t, d), d, o)
	before := contents(t, o.Dir)
	refused, begun := errors.New("refused"), 0
	o.Overwrite, o.MaxBatches = true, 7
	o.Begin = func() error { begun++; return refused }
	o.Result = func(h *Result) any { return map[string]any{"mine": h.Batches, "test": h.Test} }
	if h, err := Fit(context.Background(), smallModel(t, d), d, o); h != nil || !errors.Is(err, refused) {
		t.Errorf("%+v, %v", h, err)
	}
	if !equalFiles(contents(t, o.Dir), before) {
		t.Error("the refused run changed the folder")
	}
	o.Begin = func() error {
		if begun++; !equalFiles(contents(t, o.Dir), before) {
			t.Error("something was written before Begin")
		}
		return nil
	}
	h := mustFit(t, smallModel(t, d), d, o)
	var result struct{ Mine, Test float64 }
	if err := json.Unmarshal([]byte(contents(t, o.Dir)[resultFile]), &result); err != nil || result.Mine != 7 || result.Test != h.Test || begun != 2 {
		t.Errorf("%+v, %v; begun %d times", result, err, begun)
	}
	// Begin is not called for a run that is refused before.
	o.Overwrite = false
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); !errors.Is(err, ErrRunExists) || begun != 2 {
		t.Errorf("%v; begun %d times", err, begun)
	}
	o.Dir, o.Begin = "", func() error { begun++; return nil }
	if mustFit(t, smallModel(t, d), d, o); begun != 3 {
		t.Errorf("without a folder begun %d times", begun)
	}
}
