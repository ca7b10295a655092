package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// The files of a run's folder.
const (
	configFile  = rundir.ConfigFile
	metricsFile = rundir.MetricsFile
	lastFile    = rundir.LastFile
	bestFile    = rundir.BestFile
	resultFile  = rundir.ResultFile
)

// contents returns the bytes of every file in a folder.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func TestRunFolder(t *testing.T) {
	d := smallData(t, 100, 3)
	o := short()
	o.Dir = filepath.Join(t.TempDir(), "new", "run")
	mustFit(t, smallModel(t, d), d, o)
	files := contents(t, o.Dir)
	for _, name := range []string{configFile, metricsFile, lastFile, bestFile, resultFile} {
		if len(files[name]) == 0 {
			t.Errorf("%s is missing or empty", name)
		}
	}
	for name := range files {
		if strings.HasSuffix(name, ".part") {
			t.Errorf("%s was left", name)
		}
	}
	if !strings.Contains(files[resultFile], `"stop": "max-batches"`) || !strings.Contains(files[configFile], `"batch": 32`) {
		t.Errorf("%s\n%s", files[resultFile], files[configFile])
	}
	// The folder holds a run: nothing may change.
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); !errors.Is(err, ErrRunExists) || !strings.Contains(err.Error(), o.Dir) {
		t.Errorf("a second run: error %v", err)
	}
	if !equalFiles(contents(t, o.Dir), files) {
		t.Error("the refused run changed the folder")
	}
	o.Overwrite, o.MaxBatches = true, 14
	h := mustFit(t, smallModel(t, d), d, o)
	if h.Batches != 14 || strings.Count(contents(t, o.Dir)[metricsFile], "\n") != 2 {
		t.Errorf("overwriting: %+v", h)
	}
}

// A run of another schema is not resumed. While config.json fits, a new start needs only the
// checkpoint removed, and the error says so.
func TestResumeOtherSchema(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir, o.MaxBatches = t.TempDir(), 14
	mustFit(t, smallModel(t, d), d, o)
	o.Resume = true
	files := contents(t, o.Dir)
	check := func(words ...string) {
		t.Helper()
		before := contents(t, o.Dir)
		_, err := Fit(t.Context(), smallModel(t, d), d, o)
		for _, word := range append(words, "train again") {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("error %v, want %q in it", err, word)
			}
		}
		if !equalFiles(before, contents(t, o.Dir)) {
			t.Error("the refused run changed the folder")
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(lastFile, strings.Replace(files[lastFile], `"schema":"5"`, `"schema":"1"`, 1))
	check(lastFile+": not a usable checkpoint: its schema is 1 and", "if you remove this file")
	write(configFile, strings.Replace(files[configFile], `"schema": 5`, `"schema": 1`, 1))
	if err := os.Remove(filepath.Join(o.Dir, lastFile)); err != nil {
		t.Fatal(err)
	}
	check(configFile + ": its schema is 1 and")
}

func equalFiles(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return true
}

// TestResumeRefuses changes one setting at a time: the error must name the setting, and
// the folder must not change.
func TestResumeRefuses(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir, o.Config, o.MaxBatches = t.TempDir(), map[string]any{"method": "ladies"}, 14
	mustFit(t, smallModel(t, d), d, o)
	o.Resume = true
	before := contents(t, o.Dir)
	other := smallData(t, 300, 3)
	other.Features.Data[77]++
	split := smallData(t, 300, 3)
	split.Split.Test = split.Split.Test[1:]
	for name, change := range map[string]func(*Options, *layers.Model){
		"seed was 9 and is now 10":               func(o *Options, _ *layers.Model) { o.Seed = 10 },
		"batch was 32 and is now 31":             func(o *Options, _ *layers.Model) { o.Batch = 31 },
		"batches_per_epoch was 4 and is now 5":   func(o *Options, _ *layers.Model) { o.BatchesPerEpoch = 5 },
		"batches_per_epoch was 4 and is now 0":   func(o *Options, _ *layers.Model) { o.BatchesPerEpoch = OnePass },
		"eval_every was 7":                       func(o *Options, _ *layers.Model) { o.EvalEvery = 6 },
		"lr was 0.01 and is now 0.02":            func(o *Options, _ *layers.Model) { o.Adam.LR = 0.02 },
		"clip was 5 and is now 0":                func(o *Options, _ *layers.Model) { o.Adam.Clip = 0 },
		`method was "ladies" and is now "other"`: func(o *Options, _ *layers.Model) { o.Config = map[string]any{"method": "other"} },
		`method was "ladies" and is now not set`: func(o *Options, _ *layers.Model) { o.Config = nil },
		`extra was not set and is now 1`:         func(o *Options, _ *layers.Model) { o.Config = map[string]any{"method": "ladies", "extra": 1} },
		"parameters was":                         func(_ *Options, m *layers.Model) { *m = *modelOver(t, d, m.Batch.Sampler(), 8) },
		"sampler was": func(_ *Options, m *layers.Model) {
			*m = *modelOver(t, d, &samplers.LayerWise{Laplacian: d.Laplacian(), Sizes: []int{24, 25}}, 16)
		},
	} {
		changed, m := o, smallModel(t, d)
		change(&changed, m)
		if _, err := Fit(context.Background(), m, d, changed); err == nil || !strings.Contains(err.Error(), "cannot resume") || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), lastFile) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
	if _, err := Fit(context.Background(), smallModel(t, d), other, o); err == nil || !strings.Contains(err.Error(), "fingerprint was") {
		t.Errorf("other features: error %v", err)
	}
	if _, err := Fit(context.Background(), smallModel(t, d), split, o); err == nil || !strings.Contains(err.Error(), "fingerprint was") {
		t.Errorf("another split: error %v", err)
	}
	if !equalFiles(contents(t, o.Dir), before) {
		t.Error("a refused resume changed the folder")
	}
	// A run that was killed before its first checkpoint: config.json is compared.
	for _, name := range []string{lastFile, bestFile, resultFile} {
		if err := os.Remove(filepath.Join(o.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	changed := o
	changed.Seed = 10
	if _, err := Fit(context.Background(), smallModel(t, d), d, changed); err == nil || !strings.Contains(err.Error(), configFile+": cannot resume: seed was 9") {
		t.Errorf("without a checkpoint: error %v", err)
	}
	if h := mustFit(t, smallModel(t, d), d, o); h.Resumed != 0 || h.Batches != 14 {
		t.Errorf("without a checkpoint: %+v", h)
	}
}

// TestResumeMovedData changes the field data, the data's location, which is allowed while
// the fingerprint is the same.
func TestResumeMovedData(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir, o.Config, o.MaxBatches = t.TempDir(), map[string]any{"data": "npy:here"}, 14
	mustFit(t, smallModel(t, d), d, o)
	o.Resume, o.Config, o.MaxBatches = true, map[string]any{"data": "npy:there"}, 28
	if h := mustFit(t, smallModel(t, d), d, o); h.Resumed != 14 || h.Batches != 28 {
		t.Errorf("%+v", h)
	}
	if config, err := ReadConfig(o.Dir); err != nil || config["data"] != "npy:there" {
		t.Errorf("config %v, %v", config, err)
	}
	d.Features.Data[5]++
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); err == nil || !strings.Contains(err.Error(), "fingerprint was") {
		t.Errorf("other data there: %v", err)
	}
}

// TestResumeDamaged damages the files that resuming reads: the error must name the file,
// and the folder must not change.
func TestResumeDamaged(t *testing.T) {
	d := smallData(t, 300, 3)
	o := short()
	o.Dir, o.MaxBatches = t.TempDir(), 14
	mustFit(t, smallModel(t, d), d, o)
	o.Resume, o.MaxBatches = true, 28
	good := contents(t, o.Dir)
	for name, c := range map[string]struct {
		file   string
		change func(string) string
		want   string
	}{
		"cut":     {lastFile, func(s string) string { return s[:len(s)/2] }, "truncated"},
		"hint":    {lastFile, func(s string) string { return s[1:] }, "; if you remove this file, the run starts from the beginning"},
		"flipped": {lastFile, func(s string) string { return s[:len(s)-100] + "\x01" + s[len(s)-99:] }, "checksum"},
		"emptied": {lastFile, func(string) string { return "" }, "truncated"},
		"foreign": {lastFile, func(s string) string { return "\x93NUMPY" + s }, "some other kind"},
	} {
		t.Run(name, func(t *testing.T) {
			for file, text := range good {
				if file == c.file {
					text = c.change(text)
				}
				if err := os.WriteFile(filepath.Join(o.Dir, file), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			before := contents(t, o.Dir)
			_, err := Fit(context.Background(), smallModel(t, d), d, o)
			if err == nil || !strings.Contains(err.Error(), filepath.Join(o.Dir, c.file)) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if !equalFiles(contents(t, o.Dir), before) {
				t.Error("the folder changed")
			}
		})
	}
}

func TestFolderUnusable(t *testing.T) {
	d := smallData(t, 100, 3)
	o := short()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/proc/nowhere/run"} {
		if dir[:5] == "/proc" && runtime.GOOS != "linux" {
			continue
		}
		o.Dir = dir
		if _, err := Fit(context.Background(), smallModel(t, d), d, o); err == nil || !strings.Contains(err.Error(), dir) && !strings.Contains(err.Error(), file) {
			t.Errorf("folder %s: error %v", dir, err)
		}
	}
	if os.Geteuid() == 0 {
		return // root writes anywhere
	}
	o.Dir = t.TempDir()
	if err := os.Chmod(o.Dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := Fit(context.Background(), smallModel(t, d), d, o); !errors.Is(err, os.ErrPermission) {
		t.Errorf("read-only folder: error %v", err)
	}
}

// TestFolderIsLocked starts a second run in a folder during the first.
func TestFolderIsLocked(t *testing.T) {
	d := smallData(t, 100, 3)
	o := short()
	o.Dir, o.Resume = t.TempDir(), true
	var second error
	o.Progress = func(p Progress) {
		if p.Batch == 10 {
			inner := o
			inner.Progress = nil
			_, second = Fit(context.Background(), smallModel(t, d), d, inner)
		}
	}
	mustFit(t, smallModel(t, d), d, o)
	if !errors.Is(second, ErrRunExists) || !strings.Contains(second.Error(), "another process") {
		t.Errorf("the second run: error %v", second)
	}
}

func TestFingerprint(t *testing.T) {
	want := Fingerprint(smallData(t, 300, 3))
	if none := Fingerprint(nil); none != Fingerprint(&datasets.Data{}) || none == want {
		t.Errorf("nil data: fingerprint %s", none)
	}
	if again := Fingerprint(smallData(t, 300, 3)); again != want || len(want) != 16 {
		t.Errorf("%q and %q of the same data", want, again)
	}
	d := smallData(t, 300, 3)
	d.Name = "elsewhere"
	if Fingerprint(d) != want {
		t.Error("the fingerprint depends on the name")
	}
	seen := []string{want}
	for k, change := range []func(){
		func() { d.Features.Data[0]++ },
		func() { d.Features.Data[len(d.Features.Data)-1]++ },
		func() { d.Labels.Class[17] = (d.Labels.Class[17] + 1) % 3 },
		func() { d.Split.Train[0], d.Split.Train[1] = d.Split.Train[1], d.Split.Train[0] },
		func() { d.Split.Valid, d.Split.Test = d.Split.Test, d.Split.Valid },
		func() { d.Graph.Idx[5]++ },
		func() { d.Metric = "micro-f1" },
		func() { d.Labels.Classes = 4 },
	} {
		change()
		got := Fingerprint(d)
		if slices.Contains(seen, got) {
			t.Errorf("change %d does not change the fingerprint", k)
		}
		seen = append(seen, got)
	}
}
