package report

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/machine"
)

// writeRun makes a run's folder.
func writeRun(t *testing.T, dir, config, metrics, result string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{configFile: config, metricsFile: metrics, resultFile: result} {
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
		return `{"data":"synth:demo","method":"` + method + `","samples":[512,1024],"seed":` + seed + `,"rate":0.001,"metric":"accuracy"}`
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
	if runs[2].Result != nil || !math.IsNaN(runs[2].number("test")) {
		t.Errorf("a run that is not done has result %v", runs[2].Result)
	}
	names, of := groups(runs)
	if len(names) != 2 || names[0] != "ladies · 512, 1024" || !slices.Equal(of, []int{0, 0, 1}) {
		t.Errorf("groups %q of %v", names, of)
	}
	if d := differingSettings(runs); !slices.Equal(d, []string{"method", "seed"}) {
		t.Errorf("settings that differ: %q", d)
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
		metricsFile + ":2: cut short":                           {config, "{\"batch\":1}\n{\"batch\":\n", ""},
		metricsFile + ":1: want a JSON object, got array":       {config, "[]\n" + curve, ""},
		metricsFile + `:1: "batch" has a value of kind string`:  {config, "{\"batch\":\"1\"}\n" + curve, ""},
		configFile + ": damaged: cut short":                     {"{", curve, ""},
		configFile + ": damaged: empty":                         {"\n", curve, ""},
		configFile + ": damaged: want a JSON object, got array": {"[]", curve, ""},
		configFile + ": damaged: want a JSON object, got null":  {"null", curve, ""},
		configFile + ": damaged: an object without fields":      {"{}", curve, ""},
		configFile + ": damaged: byte 2: invalid character":     {"{]", curve, ""},
		configFile + ": damaged: something follows the object":  {config + "}", curve, ""},
		resultFile + ": damaged: want a JSON object, got array": {config, curve, "[1]"},
		resultFile + ": damaged: an object without fields":      {config, curve, "{}"},
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
	for _, name := range []string{configFile, metricsFile, resultFile} {
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
	writeRun(t, filepath.Join(dir, "c"), `{"data":"synth:demo","method":"full","samples":null,"seed":1,"rate":0.001,"metric":"accuracy"}`,
		curve+`{"batch":40,"ep`, "")
	writeRun(t, filepath.Join(dir, "d"), "", strings.TrimSuffix(curve, "\n"), `{"method":"ladies","samples":[512,1024],"test":0.25}`)
	runs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs[3].Points) != 3 || len(runs[4].Points) != 3 {
		t.Errorf("%d and %d points", len(runs[3].Points), len(runs[4].Points))
	}
	if d := differingSettings(runs); !slices.Equal(d, []string{"method", "samples", "seed"}) {
		t.Errorf("settings that differ: %q", d)
	}
	names, of := groups(runs)
	if !slices.Equal(of, []int{0, 0, 1, 2, 3}) || names[0] != "ladies · 512, 1024" || !strings.HasSuffix(names[3], "/d (settings not known)") {
		t.Errorf("groups %q of %v", names, of)
	}
	head, rows := (&Page{Runs: runs}).table(repeats(runs, of))
	for name, want := range map[string]string{"batches": "30", "best valid": "0.5", "seconds": "2", "stopped by": "not done", "test": "–"} {
		if got := rows[3][slices.Index(head, name)].Text; got != want {
			t.Errorf("%s of a run that is not done: %s, want %s", name, got, want)
		}
	}
	shared, _, _ := (&Page{Runs: []Run{runs[4], runs[0]}}).settings()
	if len(shared) != 6 {
		t.Errorf("shared settings %v", shared)
	}
	if text := (&chart{Lines: []line{{X: []float64{1}, Y: []float64{math.NaN()}}}}).SVG(); !strings.Contains(string(text), "no evaluation yet") {
		t.Error("an empty chart does not say so")
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
		"ladies · 512, 1024", "(2 runs)", "(1 run)", "&lt;b&gt;full&lt;/b&gt;", "18446744073709551615", "3 cores", "Test accuracy",
		"0.625", "0.001",
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
	if strings.Count(text, "<svg") != strings.Count(text, "</svg>") || strings.Count(text, "<svg ") < 6 {
		t.Errorf("%d charts", strings.Count(text, "<svg "))
	}
}

// TestLinePath pins the coordinates of points by hand: x from 0 to 30 over 64 …
// 544, broken at a missing value.
func TestLinePath(t *testing.T) {
	x, y := newScale(64, 544), newScale(294, 36)
	for _, v := range []float64{0, 30} {
		x.Include(v)
	}
	for _, v := range []float64{1, 3} {
		y.Include(v)
	}
	x.widen(0)
	y.widen(0)
	l := line{X: []float64{0, 15, 20, 30}, Y: []float64{1, 2, math.NaN(), 3}}
	path, points := l.path(x, y)
	if path != "M64.0,294.0L304.0,165.0M544.0,36.0" || points != 3 {
		t.Errorf("path %s of %d points", path, points)
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
	_, of := groups(runs)
	if got := repeats(runs, of); !slices.Equal(got, []int{1, -1, -1, 1}) {
		t.Errorf("runs that stand in: %v", got)
	}
	v := (&Page{Runs: runs}).view()
	if v.Groups[0].Runs != 2 || v.Groups[0].Repeats != 2 {
		t.Errorf("group %+v", v.Groups[0])
	}
	if !strings.Contains(string(v.Compare[0]), "full: 0.625 ± 0.176777, 2 runs") {
		t.Errorf("comparison %s", v.Compare[0])
	}
	if !strings.Contains(v.Rows[3][0].Text, "the same run as "+runs[1].Name) {
		t.Errorf("row %v", v.Rows[3])
	}
}

// TestNamesOfGroups checks that names leave out the shapes of the parameters, and that two
// bars never have one label.
func TestNamesOfGroups(t *testing.T) {
	var runs []Run
	shapes := []string{"GraphConv 0 W [128 256], GraphConv 0 b [256]", "GraphConv 0 W [128 64], GraphConv 0 b [64]"}
	for k, hidden := range []string{"256", "64"} {
		runs = append(runs, Run{Config: map[string]any{"method": "full", "hidden": hidden, "parameters": shapes[k], "seed": "1"}})
	}
	if names, _ := groups(runs); !slices.Equal(names, []string{"full · hidden 256", "full · hidden 64"}) {
		t.Errorf("names %q", names)
	}
	for k := range runs { // only the shapes differ
		delete(runs[k].Config, "hidden")
	}
	if names, of := groups(runs); len(names) != 2 || !slices.Equal(of, []int{0, 1}) {
		t.Errorf("names %q", names)
	}
	c := chart{}
	for _, name := range []string{"lr 0.1", "lr 0.2"} {
		c.Bars = append(c.Bars, bar{Name: "ladies-flat-debiased · 512, 1024 · " + name + " · some setting of the value 1"})
	}
	if got := c.barLabels(44); !slices.Equal(got, []string{"lr 0.1", "lr 0.2"}) {
		t.Errorf("labels %q", got)
	}
	for k, middle := range []string{"a", "b", "c"} {
		c.Bars = append(c.Bars[:k], bar{Name: strings.Repeat("x", 40) + middle + strings.Repeat("y", 40)})
	}
	labels := c.barLabels(44)
	if slices.Sort(labels); len(slices.Compact(labels)) != 3 {
		t.Errorf("labels %q", labels)
	}
}

func TestShorten(t *testing.T) {
	if s := shorten("a long name of many words", 11); s != "a lon…words" {
		t.Errorf("shortened to %q", s)
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
