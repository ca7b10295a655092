package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// searchArgs is a search of six settings that takes under a second. Without a schedule, a rung
// trains as a run that ends there.
func searchArgs(args ...string) []string {
	return append([]string{"tune", "--data", smallData, "--batch", "64", "--samples", "64", "--hidden", "16", "--max-batches", "40", "--eval-every", "5", "--schedule", "none",
		"--rungs", "2", "--reduce", "3", "--runs", "2", "--search", "lr=0.03,0.01,0.003", "--search", "dropout=0,0.5"}, args...)
}

// searchRows returns the lines of trials.jsonl.
func searchRows(t *testing.T, dir string) []map[string]any {
	t.Helper()
	var rows []map[string]any
	for line := range strings.Lines(string(readFile(t, filepath.Join(dir, trialsFile)))) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestTune searches. The score of each setting must be the best validation score of the same
// training without a search, and the best setting's test score must be the score of a run.
func TestTune(t *testing.T) {
	t.Chdir(t.TempDir())
	m := object(t, succeed(t, searchArgs("--out", "s", "--json")...))
	wantFields(t, m, "dataset", "metric", "settings", "rungs", "best", "best_valid", "best_valid_sem", "test_mean", "test_std", "test_sem",
		"runs", "seed", "wall_s", "peak_rss_mb", "blas", "device", "run_dir", "best_dir", "recipe")
	rows := searchRows(t, "s")
	if len(rows) != 6+2 || m["settings"] != 6.0 {
		t.Fatalf("%d rows, %v settings", len(rows), m["settings"])
	}
	for k, row := range rows {
		wantFields(t, row, "setting", "rung", "batches", "valid", "sem", "scores", "kept", "options")
		if kept := k < 2 || k == 6; row["kept"] != kept {
			t.Errorf("row %d: %v", k, row)
		}
		if k > 0 && row["rung"] == rows[k-1]["rung"] && row["valid"].(float64) > rows[k-1]["valid"].(float64) {
			t.Errorf("row %d is better than the one before", k)
		}
	}
	best := rows[6]
	if best["batches"] != 40.0 || best["rung"] != 2.0 || m["best_valid"] != best["valid"] {
		t.Errorf("best %v, result %v", best, m["best_valid"])
	}
	// The recipe trains the same models.
	r := object(t, succeed(t, "train", "--data", smallData, "--recipe", "s/best.json", "--runs", "2", "--out", "recipe", "--json", "-q"))
	if r["test_mean"] != m["test_mean"] || r["test_sem"] != m["test_sem"] || r["best_valid"] != m["best_valid"] {
		t.Errorf("the recipe: test %v, valid %v; the search has %v, %v", r["test_mean"], r["best_valid"], m["test_mean"], m["best_valid"])
	}
	// Only the best setting was tested.
	tested, err := filepath.Glob("s/setting-*/seed-*/result.json")
	if err != nil || len(tested) != 2 || filepath.Dir(filepath.Dir(tested[0])) != m["best_dir"] {
		t.Errorf("test scores in %v, %v", tested, err)
	}
	for _, name := range []string{"tune.svg", "tune.png", "result.json", "tune.json"} {
		if info, err := os.Stat(filepath.Join("s", name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Scores of a rung equal the scores of training without a search.
	last := rows[5] // of the first rung
	options := last["options"].(map[string]any)
	line := []string{"train", "--data", smallData, "--batch", "64", "--samples", "64", "--hidden", "16", "--max-batches", "15", "--eval-every", "5", "--schedule", "none", "--runs", "2",
		"--out", "alone", "--json", "-q", "--lr", options["lr"].(string), "--dropout", options["dropout"].(string)}
	if r := object(t, succeed(t, line...)); r["best_valid"] != last["valid"] {
		t.Errorf("valid %v without a search, %v in it", r["best_valid"], last["valid"])
	}
}

// TestTuneResume stops searches at several moments and goes on with them, with other numbers of
// jobs. They must end with the same rows and the same table.
func TestTuneResume(t *testing.T) {
	t.Chdir(t.TempDir())
	args := func(more ...string) []string { return searchArgs(append([]string{"--runs", "1"}, more...)...) }
	want := succeed(t, args("--out", "whole", "--jobs", "1", "-q")...)
	rows := readFile(t, "whole/"+trialsFile)
	for _, jobs := range []string{"5"} {
		if out := succeed(t, args("--out", "whole"+jobs, "--jobs", jobs, "-q")...); !bytes.Equal(rows, readFile(t, "whole"+jobs+"/"+trialsFile)) {
			t.Errorf("--jobs %s: other rows; %s", jobs, out.stdout)
		}
	}
	dir := "cut"
	stops := 0
	for after := 1; ; after++ {
		// Each process lives a little longer than the one before it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(after)*10*time.Millisecond)
		var stdout, stderr bytes.Buffer
		code := execute(ctx, args("--out", dir, "--jobs", "2", "--resume", "--config", checkpoints(t, 0)), &stdout, &stderr)
		cancel()
		if code == exitDone {
			if a, b := strings.ReplaceAll(stdout.String(), "cut", "whole"), want.stdout; a != b {
				t.Errorf("the table differs:\n%s\n%s", a, b)
			}
			break
		}
		if stops++; code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
			t.Fatalf("exit code %d: %s", code, stderr.String())
		}
	}
	if stops < 2 {
		t.Errorf("only %d stops: the test shows little", stops)
	}
	if !bytes.Equal(rows, readFile(t, "cut/"+trialsFile)) {
		t.Errorf("other rows:\n%s\n%s", rows, readFile(t, "cut/"+trialsFile))
	}
	// A search that is done, and the folder alone.
	again := succeed(t, "tune", "--out", "cut", "--resume", "-q")
	if strings.ReplaceAll(again.stdout, "cut", "whole") != want.stdout {
		t.Errorf("another table the second time:\n%s", again.stdout)
	}
}

// TestTuneResumeSeveral goes on with a search that is done, of several seeds and evaluations that
// each run counts itself.
func TestTuneResumeSeveral(t *testing.T) {
	t.Chdir(t.TempDir())
	want := succeed(t, "tune", "--data", smallData, "--batch", "64", "--max-batches", "4", "--runs", "2", "--search", "lr=0.03,0.01", "--out", "s", "-q")
	if again := succeed(t, "tune", "--out", "s", "--resume", "-q"); again.stdout != want.stdout {
		t.Errorf("another table the second time:\n%s", again.stdout)
	}
}

// TestTuneNotSaved runs a search whose checkpoint cannot be written, when the search is stopped and
// when a rung ends. The message must not say that the trials were saved, nor that a search was
// interrupted that was not.
func TestTuneNotSaved(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, stopped := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		dir := fmt.Sprint("s-", stopped)
		go func() {
			for text := []byte(nil); len(text) == 0 && t.Context().Err() == nil; text, _ = os.ReadFile(dir + "/setting-1/metrics.jsonl") {
				time.Sleep(time.Millisecond)
			}
			if err := os.Remove(dir + "/setting-1/.lock"); err != nil { // as if another process had it
				t.Error(err)
			}
			if stopped {
				cancel()
			}
		}()
		var stdout, stderr bytes.Buffer
		code := execute(ctx, searchArgs("--out", dir, "--runs", "1", "--jobs", "1", "--max-batches", "4000", "--eval-every", "50", "--config", checkpoints(t, 3600)), &stdout, &stderr)
		want, exit := "gcn: interrupted; not saved: write "+dir+"/setting-1/", exitInterrupted
		if !stopped {
			want, exit = "gcn: setting 1 (lr=0.03 dropout=0): write "+dir+"/setting-1/", exitFailed
		}
		if line := lastLine(stderr.String()); code != exit || !strings.HasPrefix(line, want) {
			t.Errorf("stopped %v: exit code %d: %s", stopped, code, line)
		}
	}
}

// TestTuneEnds checks searches in which runs end early: by patience, and by diverging. A
// cosine schedule knows the last mini-batch from the first rung on.
func TestTuneEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	out := succeed(t, "tune", "--data", smallData, "--batch", "64", "--samples", "64", "--hidden", "16", "--max-batches", "60", "--patience", "10", "--eval-every", "5",
		"--runs", "1", "--rungs", "2", "--search", "lr=0.03,1e30", "--schedule", "cosine", "--layer-norm", "--out", "s")
	if !strings.Contains(out.stdout, "diverged") {
		t.Errorf("no setting diverged:\n%s", out.stdout)
	}
	if rows := searchRows(t, "s"); rows[0]["valid"] == nil || rows[1]["valid"] != nil {
		t.Errorf("rows %v", rows)
	}
	// The scores of the first evaluation overflow before a loss does.
	out = succeed(t, "tune", "--data", smallData, "--batch", "64", "--samples", "64", "--hidden", "16", "--max-batches", "4", "--eval-every", "1", "--rungs", "1",
		"--dropout", "0", "--runs", "1", "--search", "lr=0.03,1e30", "--out", "scores")
	if !strings.Contains(out.stdout, "diverged") {
		t.Errorf("no setting diverged:\n%s", out.stdout)
	}
	fail(t, exitFailed, []string{"diverged in all settings"}, "tune", "--data", smallData, "--batch", "64", "--samples", "64", "--hidden", "16",
		"--max-batches", "60", "--runs", "1", "--search", "lr=1e30,1e31", "--out", "all")
}

// TestTuneFewEvaluations searches with fewer evaluations than rungs: there are fewer rungs. A
// search goes on with its rungs.
func TestTuneFewEvaluations(t *testing.T) {
	t.Chdir(t.TempDir())
	for options, want := range map[string][]float64{
		"--max-batches 9 --eval-every 1":   {1, 3, 9},
		"--max-batches 10 --eval-every 2":  {2, 4, 10},
		"--max-batches 30 --eval-every 20": {10, 30},
		"--max-batches 6 --eval-every 10":  {6},
		"--max-batches 6":                  {1, 2, 6}, // auto: after each
		"--max-batches 1":                  {1},
	} {
		line := append(strings.Fields("tune --data "+smallData+" --batch 64 --samples 64 --hidden 8 --runs 1 --search lr=0.03,0.01 --json --out"), options)
		line = append(line, strings.Fields(options)...)
		out := succeed(t, line...)
		var got []float64
		for _, rung := range object(t, out)["rungs"].([]any) {
			got = append(got, rung.(map[string]any)["batches"].(float64))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: rungs end at %v, want %v", options, got, want)
		}
		if again := object(t, succeed(t, "tune", "--out", options, "--resume", "--json", "-q")); !reflect.DeepEqual(again["rungs"], object(t, out)["rungs"]) {
			t.Errorf("%s: resumed with the rungs %v", options, again["rungs"])
		}
	}
}

// TestTuneSpace draws settings, and checks that numbers of layers go with numbers of samples.
func TestTuneSpace(t *testing.T) {
	t.Chdir(t.TempDir())
	line := []string{"tune", "--data", smallData, "--batch", "64", "--hidden", "8", "--max-batches", "9", "--eval-every", "3", "--runs", "1", "--rungs", "1", "-q",
		"--search", "lr=0.001,0.003,0.01,0.03,0.1", "--search", "layers=1,2,3", "--search", "layer-norm=true,false"}
	fail(t, exitUsage, []string{"samples=64,48,32", "3 numbers"}, append(line, "--search", "samples=32 64,48,32", "--trials", "40", "--out", "a")...)
	line = append(line, "--search", "samples=32,48", "--trials", "4", "--search", "hidden-residual=none,linear")
	auto := append(slices.Clone(line), "--search", "eval-every=auto", "--out", "auto", "--json")
	auto = slices.Delete(auto, slices.Index(auto, "--eval-every"), slices.Index(auto, "--eval-every")+2)
	if got := object(t, succeed(t, auto...))["best"].(map[string]any)["eval_every"]; got != "auto" || searchRows(t, "auto")[0]["options"].(map[string]any)["eval-every"] != "auto" {
		t.Errorf("the recipe of --search eval-every=auto has eval_every %v", got)
	}
	m := object(t, succeed(t, append(line, "--out", "a", "--json")...))
	wantFields(t, m["best"].(map[string]any), "lr", "layers", "layer_norm", "samples", "hidden_residual", "max_batches")
	if rows := searchRows(t, "a"); len(rows) != 4 {
		t.Errorf("%d rows", len(rows))
	}
	succeed(t, append(line, "--out", "b")...)
	if !bytes.Equal(readFile(t, "a/"+trialsFile), readFile(t, "b/"+trialsFile)) {
		t.Error("the same seed searches other settings")
	}
}

func TestTuneErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, append([]string{"train", "--out", "run"}, quick...)...)
	succeed(t, searchArgs("--out", "s", "-q")...)
	if err := os.CopyFS("run[1]", os.DirFS("run")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "recipe.json", []byte(`{"layers": 0}`))
	writeFile(t, "epochs.json", []byte(`{"epochs": 2}`))
	writeFile(t, "e", []byte("0 1\n1 2\n2 3\n3 4\n4 0\n"))
	writeFile(t, "l", []byte("0\n1\n0\n1\n0\n"))
	if err := os.Mkdir("damaged", 0o777); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "damaged/tune.json", nil)
	succeed(t, searchArgs("--out", "other", "-q")...)
	if err := os.Remove("other/tune.json"); err != nil {
		t.Fatal(err)
	}
	for words, args := range map[string][]string{
		"nothing to search":                                {},
		"setting layrs=1,did you mean layers?":             {"--search", "layrs=1"},
		"NAME=VALUES":                                      {"--search", "lr"},
		"seed is the same for all settings,--seed":         {"--search", "seed=1,2"},
		"lr is given as --lr too":                          {"--search", "lr=1,2", "--lr", "3"},
		"lr is searched twice":                             {"--search", "lr=1,2", "--search", "lr=3"},
		"whole number":                                     {"--search", "layers=two"},
		"setting dropout=1: --dropout 1,[0, 1)":            {"--search", "dropout=0.5,1"},
		"--samples auto,numbers":                           {"--search", "lr=1,2", "--samples", "auto"},
		"setting layers=0: --layers 0,1000]":               {"--search", "layers=0,1"},
		"recipe.json,--layers 0":                           {"--search", "lr=1,2", "--recipe", "recipe.json"},
		"--max-batches 0":                                  {"--search", "lr=1,2", "--max-batches", "0", "--schedule", "none"},
		"--max-batches,--epochs 3":                         {"--search", "lr=1,2", "--epochs", "3"},
		"--max-batches,--epochs 2":                         {"--search", "lr=1,2", "--recipe", "epochs.json"},
		"--reduce 1":                                       {"--search", "lr=1,2", "--reduce", "1"},
		"--runs 0":                                         {"--search", "lr=1,2", "--runs", "0"},
		"--resume,--out":                                   {"--search", "lr=1,2", "--resume"},
		"no validation nodes":                              {"--search", "lr=1,2", "--data", "edges:e?labels=l&split=80/0/20"},
		"s holds a search already,--resume":                {"--search", "lr=1,2", "--out", "s"},
		"run holds other files,no tune.json":               {"--search", "lr=1,2", "--out", "run"},
		"run[1] holds other files":                         {"--search", "lr=1,2", "--out", "run[1]"},
		"tune.json: damaged":                               {"--search", "lr=1,2", "--out", "damaged", "--resume"},
		"other holds other files,another":                  {"--search", "lr=1,2", "--out", "other"},
		"other holds other files,tune.json":                {"--search", "lr=1,2", "--out", "other", "--resume"},
		"cannot resume: max-batches was \"40\",now \"50\"": append(searchArgs()[1:], "--max-batches", "50", "--out", "s", "--resume"),
		"cannot resume: search was,is now":                 {"--search", "lr=1,2", "--out", "s", "--resume"},
	} {
		out := gcn(t, append([]string{"tune"}, args...)...)
		line := lastLine(out.stderr)
		for _, word := range strings.Split(words, ",") {
			if out.code == exitDone || !strings.Contains(line, word) {
				t.Errorf("gcn tune %s: exit code %d, no %q in %s", strings.Join(args, " "), out.code, word, line)
			}
		}
	}
}

// TestTuneHelp checks that --help is short and shows the options of a search, and that
// --help-all shows each option.
func TestTuneHelp(t *testing.T) {
	help := succeed(t, "tune", "--help").stdout
	if n := strings.Count(help, "\n"); n > 60 || !strings.Contains(help, "--search") || strings.Contains(help, "--clip") {
		t.Errorf("%d lines:\n%s", n, help)
	}
	if all := succeed(t, "tune", "--help-all").stdout; !strings.Contains(all, "--clip ") || strings.Contains(all, "--overwrite ") {
		t.Errorf("--help-all is\n%s", all)
	}
}
