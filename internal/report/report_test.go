package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/machine"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/study/figure"
)

// writeRun makes a run's folder. It adds this program's schema to a config.
func writeRun(t *testing.T, dir, config, metrics, result string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	config = strings.Replace(config, `{"`, fmt.Sprintf(`{"schema":%d,"`, rundir.Schema), 1)
	for name, text := range map[string]string{rundir.ConfigFile: config, rundir.MetricsFile: metrics, rundir.ResultFile: result} {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

const curve = `{"batch":10,"epoch":0,"loss":2.5,"valid":0.25,"best":true,"seconds":0.5}
{"batch":20,"epoch":1,"loss":null,"valid":0.5,"best":true,"seconds":1.25}
{"batch":30,"epoch":2,"loss":1.5,"valid":null,"best":false,"seconds":2}
`

// threeRuns are two seeds of one method, and an unfinished run of another method.
func threeRuns(t *testing.T) string {
	dir := t.TempDir()
	config := func(method, seed string) string {
		return `{"data":"synth:demo","method":"` + method + `","samples":[512,1024],"seed":` + seed + `,"lr":0.001,"metric":"accuracy"}`
	}
	writeRun(t, filepath.Join(dir, "a", "seed-1"), config("ladies", "18446744073709551615"), curve, `{"test":0.5,"best_valid":0.5,"metric":"accuracy","train_ms_per_batch":2.5,"blas":"gonum"}`)
	writeRun(t, filepath.Join(dir, "a", "seed-2"), config("ladies", "2"), curve, `{"test":0.75,"best_valid":0.5,"metric":"accuracy"}`)
	writeRun(t, filepath.Join(dir, "b"), config("<b>full</b>", "1"), curve, "")
	return dir
}

func TestLoad(t *testing.T) {
	runs, err := Load(threeRuns(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 3 {
		t.Fatalf("%d runs, want 3", len(runs))
	}
	run := runs[0]
	if !strings.HasSuffix(run.Name, "/a/seed-1") || len(run.Points) != 3 || run.text("seed") != "18446744073709551615" || run.number("test") != 0.5 {
		t.Errorf("run %+v", run)
	}
	if p := run.Points[1]; p.Batch != 20 || !math.IsNaN(float64(p.Loss)) || p.Valid != 0.5 || p.Seconds != 1.25 {
		t.Errorf("point %+v", p)
	}
	if runs[2].done || !math.IsNaN(runs[2].number("test")) {
		t.Errorf("a run that is not done has result %v", runs[2].Result)
	}
	s := split(runs)[0]
	if names, of := s.groups(); len(names) != 2 || names[0] != "ladies · 512, 1024" || !slices.Equal(of, []int{1, 1, 2}) {
		t.Errorf("groups %q of %v", names, of)
	}
	if differ, _ := settings(runs); !slices.Equal(differ, []string{"method", "seed"}) {
		t.Errorf("settings that differ: %q", differ)
	}
}

func TestLoadErrors(t *testing.T) {
	empty := t.TempDir()
	if _, err := Load(empty); err == nil || !strings.Contains(err.Error(), empty) {
		t.Errorf("error %v, want one that names the folder", err)
	}
	if _, err := Load(filepath.Join(empty, "missing")); err == nil {
		t.Error("no error about a folder that is not there")
	}
	const config = `{"seed": 1}`
	for words, broken := range map[string][3]string{
		rundir.MetricsFile + ":2: unexpected":                             {config, "{\"batch\":1}\n{\"batch\":\n", ""},
		rundir.MetricsFile + ":1: json: cannot unmarshal":                 {config, "[]\n" + curve, ""},
		rundir.MetricsFile + ":1: json: cannot unmarshal string":          {config, "{\"batch\":\"1\"}\n" + curve, ""},
		rundir.ConfigFile + ": damaged: unexpected EOF":                   {"{", curve, ""},
		rundir.ConfigFile + ": damaged: EOF":                              {"\n", curve, ""},
		rundir.ConfigFile + ": damaged: json: cannot unmarshal array":     {"[]", curve, ""},
		rundir.ConfigFile + ": damaged: want one JSON object with fields": {"null", curve, ""},
		rundir.ConfigFile + ": damaged: invalid character":                {"{]", curve, ""},
		rundir.ConfigFile + ": its schema is 1 and this":                  {`{ "schema": 1}`, curve, ""},
		rundir.ConfigFile + ": its schema is not set and this":            {`{ "seed": 1}`, curve, ""},
		rundir.ConfigFile + ": damaged: want one JSON object":             {config + "}", curve, ""},
		rundir.ResultFile + ": damaged: json: cannot unmarshal array":     {config, curve, "[1]"},
		rundir.ResultFile + ": damaged: want one JSON object with fields": {config, curve, "{}"},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		writeRun(t, dir, broken[0], broken[1], broken[2])
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, words)) {
			t.Errorf("error %v, want %s", err, words)
		}
	}
}

// TestDevices checks that a device in the place of a file is refused: reading it
// may never end.
func TestDevices(t *testing.T) {
	if _, err := os.Stat(os.DevNull); err != nil || runtime.GOOS == "windows" {
		t.Skip("no devices here")
	}
	for _, name := range []string{rundir.ConfigFile, rundir.MetricsFile, rundir.ResultFile} {
		dir := t.TempDir()
		writeRun(t, dir, `{"seed": 1}`, curve, `{"batches": 1}`)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), os.Symlink(os.DevNull, path)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), path+": not a regular file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestUnfinished checks that runs that go on or died are shown. A run without
// settings does not make the settings of all others differ.
func TestUnfinished(t *testing.T) {
	dir := threeRuns(t)
	writeRun(t, filepath.Join(dir, "c"), `{"data":"synth:demo","method":"full","samples":null,"seed":1,"lr":0.001,"metric":"accuracy"}`,
		curve+`{"batch":40,"ep`, "")
	writeRun(t, filepath.Join(dir, "d"), "", strings.TrimSuffix(curve, "\n"), `{"method":"ladies","samples":[512,1024],"test":0.25}`)
	runs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs[3].Points) != 3 || len(runs[4].Points) != 3 {
		t.Errorf("%d and %d points", len(runs[3].Points), len(runs[4].Points))
	}
	if d, _ := settings(runs); !slices.Equal(d, []string{"method", "samples", "seed"}) {
		t.Errorf("settings that differ: %q", d)
	}
	sets := split(runs)
	if names, of := sets[0].groups(); len(sets) != 2 || !slices.Equal(of, []int{1, 1, 2, 3}) || names[0] != "ladies · 512, 1024" || !strings.HasSuffix(sets[1].Methods[0].Name, "/d (settings not known)") {
		t.Errorf("groups %q of %v", names, of)
	}
	page := (&Page{Runs: runs}).view()
	for name, want := range map[string]string{"batches": "30", "best_valid": "0.5", "wall_s": "2", "stop": "not done", "test": "–"} {
		if got := page.Sections[0].Rows[3].Shown(name); got != want {
			t.Errorf("%s of a run that is not done: %s, want %s", name, got, want)
		}
	}
	if shared := (&Page{Runs: []*Run{runs[4], runs[0]}}).view().Settings; len(shared) != 5 || slices.ContainsFunc(shared, func(s []string) bool { return s[0] == "metric" }) {
		t.Errorf("shared settings %v", shared)
	}
	if text := inline(&figure.Figure{Panels: []figure.Panel{{Lines: []figure.Series{{X: []float64{1}, Y: []float64{math.NaN()}}}}}}); !strings.HasPrefix(string(text), "<svg role=") {
		t.Errorf("an empty chart is %s", text)
	}
}

// TestPage checks that the page is whole, escapes its text, and loads nothing from
// outside.
func TestPage(t *testing.T) {
	if err := new(Page).Write(io.Discard); err == nil || !strings.HasPrefix(err.Error(), "report: ") {
		t.Errorf("no runs: error %v", err)
	}
	runs, err := Load(threeRuns(t))
	if err != nil {
		t.Fatal(err)
	}
	page := Page{Title: "Ladies & others", Runs: runs, Machine: machine.Machine{OS: "linux", Arch: "amd64", Cores: 3, BLAS: "gonum"}}
	var b bytes.Buffer
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, words := range []string{
		"Ladies &amp; others", "Validation accuracy over batches", "Training loss over seconds", "prefers-color-scheme: dark",
		"ladies · 512, 1024", "(2 runs)", "(1 run)", "&lt;b&gt;full&lt;/b&gt;", "18446744073709551615", "3 cores", "test accuracy",
		"0.62 ± 0.18", "0.001",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if strings.Contains(text, "<b>full") || strings.Contains(text, "NaN") {
		t.Error("the page holds raw HTML of a setting, or NaN")
	}
	if found := regexp.MustCompile(`(?i)(src|href)=|url\(|<script|https?://`).FindString(text); found != "" {
		t.Errorf("the page is not self-contained: %s", found)
	}
	if strings.Count(text, "<svg") != strings.Count(text, "</svg>") || strings.Count(text, "<svg ") < 4 {
		t.Errorf("%d charts", strings.Count(text, "<svg "))
	}
}

// TestOneSeedTwice checks that a run counts once where a folder holds it twice: by itself,
// and among several runs.
func TestOneSeedTwice(t *testing.T) {
	dir := t.TempDir()
	config := func(seed string) string {
		return `{"data":"synth:demo","method":"full","samples":null,"seed":` + seed + `,"metric":"accuracy"}`
	}
	result := `{"test":0.5,"best_valid":0.5,"metric":"accuracy"}`
	writeRun(t, filepath.Join(dir, "again"), config("1"), curve, "")
	writeRun(t, filepath.Join(dir, "several", "seed-1"), config("1"), curve, result)
	writeRun(t, filepath.Join(dir, "several", "seed-2"), config("2"), curve, `{"test":0.75,"best_valid":0.5,"metric":"accuracy"}`)
	writeRun(t, filepath.Join(dir, "single"), config("1"), curve, result)
	runs, err := Load(dir, filepath.Join(dir, "single"), filepath.Join(dir, "several"))
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 4 {
		t.Fatalf("%d runs, want 4: a folder within another counts once", len(runs))
	}
	v := (&Page{Runs: runs}).view()
	if g := v.Sections[0].Methods[0]; len(g.Runs) != 2 || g.Repeats != 2 || g.Name != "full" || g.Test.With(g.Test.SD) != "0.62 ± 0.18" {
		t.Errorf("group %+v", g)
	}
	for k, want := range []string{runs[1].Name, "", "", runs[1].Name} {
		if row := v.Sections[0].Rows[k]; row.Same != want {
			t.Errorf("%s is the same as %q, want %q", row.Name, row.Same, want)
		}
	}
	var text strings.Builder
	if err := (&Page{Runs: runs}).Write(&text); err != nil || strings.Count(text.String(), "(the same run as ") != 2 {
		t.Errorf("the page does not name two repeated runs; %v", err)
	}
}

// TestNamesOfGroups checks that names leave out the shapes of the parameters, and that two
// bars never have one label.
func TestNamesOfGroups(t *testing.T) {
	var runs []*Run
	shapes := []string{"GraphConv 0 W [128 256], GraphConv 0 b [256]", "GraphConv 0 W [128 64], GraphConv 0 b [64]"}
	for k, hidden := range []string{"256", "64"} {
		runs = append(runs, &Run{Config: map[string]any{"method": "full", "hidden": hidden, "parameters": shapes[k], "seed": "1"}})
	}
	if names, _ := split(runs)[0].groups(); !slices.Equal(names, []string{"full · hidden 256", "full · hidden 64"}) {
		t.Errorf("names %q", names)
	}
	for k := range runs { // only the shapes differ
		delete(runs[k].Config, "hidden")
	}
	runs[1].Name = "runs/b"
	if names, of := split(runs)[0].groups(); !slices.Equal(names, []string{"full", "full · runs/b"}) || !slices.Equal(of, []int{1, 2}) {
		t.Errorf("names %q", names)
	}
}

// TestDataSets checks that runs on two data sets are in two sections, with colours of their own.
func TestDataSets(t *testing.T) {
	var runs []*Run
	for k := range 16 {
		runs = append(runs, &Run{Config: map[string]any{"method": fmt.Sprint("m", k/2), "data": fmt.Sprint("data", k%2), "seed": "1"}})
	}
	v := (&Page{Runs: runs}).view()
	if len(v.Sections) != 2 || len(v.Sections[0].Methods) != 8 || len(v.Sections[1].Methods) != 8 {
		t.Fatalf("sections %+v", v.Sections)
	}
	seen := map[string]bool{}
	for k, g := range v.Sections[1].Methods {
		if g.Name != fmt.Sprint("m", k) || seen[g.Colour()] {
			t.Errorf("group %+v", g)
		}
		seen[g.Colour()] = true
	}
}

// TestSettingsOfDataSets checks that a setting that differs only between data sets is in no
// name, but in the tables of settings, and that fields that are no settings are in neither.
func TestSettingsOfDataSets(t *testing.T) {
	var runs []*Run
	for k := range 4 {
		runs = append(runs, &Run{Config: map[string]any{
			"method": fmt.Sprint("m", k/2), "data": fmt.Sprint("data", k%2), "batch": fmt.Sprint(64 + k%2), "lr": "0.1", "fingerprint": fmt.Sprint(k), "sampler": "s", "seed": "1",
		}})
	}
	v := (&Page{Runs: runs}).view()
	for k, s := range v.Sections {
		if s.Methods[0].Name != "m0" || s.Methods[1].Name != "m1" {
			t.Errorf("groups %+v", s.Methods)
		}
		batch := fmt.Sprint(64 + k)
		for _, m := range s.Methods {
			if got := m.Setting("batch"); got != batch {
				t.Errorf("batch %q, want %q", got, batch)
			}
		}
	}
	if !slices.Equal(v.Differ, []string{"batch"}) {
		t.Errorf("settings that differ: %q", v.Differ)
	}
	if want := [][]string{{"lr", "0.1"}, {"seed", "1"}}; !reflect.DeepEqual(v.Settings, want) {
		t.Errorf("shared settings %q, want %q", v.Settings, want)
	}
	if m := Compare(runs)[3]; m.Name != "data1 · m1" {
		t.Errorf("name %s", m.Name)
	}
}

func TestWriteEvents(t *testing.T) {
	runs, err := Load(threeRuns(t))
	if err != nil {
		t.Fatal(err)
	}
	path, err := runs[0].WriteEvents(filepath.Join(t.TempDir(), "logs"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(filepath.Base(path), ".tfevents.") {
		t.Errorf("file %s", path)
	}
	// One loss and one score are null: four scalars in three events.
	if n := bytes.Count(text, []byte("loss/train")); n != 2 {
		t.Errorf("%d losses, want 2", n)
	}
	if n := bytes.Count(text, []byte("valid/accuracy")); n != 2 {
		t.Errorf("%d scores, want 2", n)
	}
}
