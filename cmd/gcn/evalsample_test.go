package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The run, its files, gcn eval and the report say that a score is of a sample of the nodes.
func TestEvalSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	line := append([]string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "--eval-samples", "20", "-q", "--out", "run"}, paperSteps...)
	succeed(t, append(line, "--max-batches", "10")...)
	resumed := succeed(t, "train", "--out", "run", "--resume", "--max-batches", "20", "--json", "-q")
	r := object(t, resumed)
	if r["eval_samples"] != 20.0 || r["valid_sample"] != 20.0 || r["test_sample"] != 20.0 {
		t.Errorf("%v", r)
	}
	for _, name := range []string{"test_se", "best_valid_se"} {
		if se, ok := r[name].(float64); !ok || se <= 0 || se > 0.2 {
			t.Errorf("%s: %v", name, r[name])
		}
	}
	for file, text := range map[string]string{"config.json": `"eval_samples": 20`, "metrics.jsonl": `"valid_se":`, "result.json": `"test_se":`} {
		if content, err := os.ReadFile(filepath.Join("run", file)); err != nil || !strings.Contains(string(content), text) {
			t.Errorf("%s has no %s: %v", file, text, err)
		}
	}
	fail(t, exitFailed, []string{"cannot resume", "eval_samples"}, "train", "--out", "run", "--resume", "--eval-samples", "21", "-q")

	// The sample of gcn eval is the run's.
	e := object(t, succeed(t, "eval", "--run", "run", "--eval-samples", "20", "--json", "--out", "run"))
	sample, _ := e["sample"].(map[string]any)
	if e["score"] != r["test"] || e["nodes"] != 20.0 || sample["standard_error"] != r["test_se"] || sample["unbiased"] != true || sample["of"] == 20.0 {
		t.Errorf("eval %v, training %v", e, r)
	}
	if text := succeed(t, "eval", "--run", "run", "--eval-samples", "20").stdout; !strings.Contains(text, "sample standard error") || !strings.Contains(text, "sample unbiased") {
		t.Errorf("eval prints %s", text)
	}
	again := succeed(t, "train", "--config", "run", "--out", "again", "-q").stdout
	if !bytes.Equal(weightsOf(t, "run"), weightsOf(t, "again")) || strings.Count(again, "estimated from a sample of 20 nodes") != 2 {
		t.Errorf("again: %s", again)
	}
	succeed(t, "report", "run", "--out", "page.html")
	page, err := os.ReadFile("page.html")
	if err != nil || !strings.Contains(string(page), "(sample of 20 nodes)") || !strings.Contains(string(page), "estimated from a sample") || !strings.Contains(string(page), "the nodes are a sample of") {
		t.Errorf("the page does not say that scores are of a sample: %v", err)
	}
	whole := object(t, succeed(t, "eval", "--run", "run", "--json"))
	if _, there := whole["sample"]; there || whole["nodes"] == 20.0 {
		t.Errorf("without the option: %v", whole)
	}

	fail(t, exitUsage, []string{"--eval-samples -1"}, "train", "--data", smallData, "--eval-samples", "-1")
	fail(t, exitUsage, []string{"--correct-and-smooth"}, "eval", "--run", "run", "--eval-samples", "5", "--correct-and-smooth")
	fail(t, exitFailed, []string{"rocauc", "score all nodes"}, "train", "--data", "synth:proteins?nodes=2100&edges=6000", "--eval-samples", "5", "-q", "--out", "auc")
}

// --memory and --scratch do not change a bit, and leave nothing behind.
func TestEvalWithinMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "datasets", "convert", "synth:demo?nodes=30000&edges=90000", "a.store", "--features", "float16")
	line := []string{"train", "--data", "store:a.store", "--batch", "32", "--max-batches", "20", "-q"}
	succeed(t, append(line, "--out", "plain")...)
	if err := os.Mkdir("scratch", 0o777); err != nil {
		t.Fatal(err)
	}
	bound := []string{"--memory", "1500kB", "--scratch", "scratch"}
	succeed(t, append(append(line, "--out", "bounded"), bound...)...)
	if !bytes.Equal(weightsOf(t, "plain"), weightsOf(t, "bounded")) {
		t.Error("the bound changes the weights")
	}
	succeed(t, "predict", "--run", "plain", "--out", "a.npy", "--logits")
	succeed(t, append([]string{"predict", "--run", "plain", "--out", "b.npy", "--logits"}, bound...)...)
	succeed(t, "predict", "--run", "plain", "--out", "a1.npy", "--layer", "1")
	succeed(t, append([]string{"predict", "--run", "plain", "--out", "b1.npy", "--layer", "1"}, bound...)...)
	for a, b := range map[string]string{"a.npy": "b.npy", "a1.npy": "b1.npy"} {
		x, err := os.ReadFile(a)
		y, err2 := os.ReadFile(b)
		if err != nil || err2 != nil || !bytes.Equal(x, y) {
			t.Errorf("%s and %s differ: %v, %v", a, b, err, err2)
		}
	}
	a, b := object(t, succeed(t, "eval", "--run", "plain", "--json")), object(t, succeed(t, append([]string{"eval", "--run", "plain", "--json"}, bound...)...))
	if a["score"] != b["score"] {
		t.Errorf("scores %v and %v", a["score"], b["score"])
	}
	if left, err := os.ReadDir("scratch"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	fail(t, exitUsage, []string{"--memory lots"}, "eval", "--run", "plain", "--memory", "lots")
	fail(t, exitFailed, []string{"--scratch", "none"}, "eval", "--run", "plain", "--scratch", "none")
	fail(t, exitFailed, []string{"--scratch", "not a directory"}, "train", "--scratch", "a.store", "--out", "x")
	fail(t, exitFailed, []string{"may take 100 kB"}, "eval", "--run", "plain", "--memory", "100kB")
	// A run that could not be evaluated does not begin.
	fail(t, exitFailed, []string{"may take 100 kB"}, append(line, "--out", "none", "--memory", "100kB")...)
	if _, err := os.Stat("none"); !os.IsNotExist(err) {
		t.Errorf("the folder of a run without memory for its evaluation: %v", err)
	}
	succeed(t, append(line, "--out", "few", "--memory", "100kB", "--eval-samples", "256")...) // scored without the bound
}

// A search says that its test score is of a sample, and compares no settings by the scores of
// different samples.
func TestTuneEvalSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	line := []string{"tune", "--data", smallData, "--hidden", "8", "--batch", "32", "--max-batches", "4", "--eval-every", "2", "--rungs", "1", "--eval-samples", "20", "-q", "--search", "lr=0.1,0.01"}
	r := object(t, succeed(t, append(line, "--runs", "2", "--out", "search", "--json")...))
	if se, _ := r["test_se"].(float64); r["test_sample"] != 20.0 || se <= 0 {
		t.Errorf("a sample of %v nodes, standard error %v", r["test_sample"], r["test_se"])
	}
	if text := succeed(t, append(line, "--runs", "1", "--out", "one")...).stdout; !strings.Contains(text, "estimated from a sample of 20 nodes") {
		t.Errorf("the search prints %s", text)
	}
	fail(t, exitUsage, []string{"eval-samples is the same for all settings"}, "tune", "--data", smallData, "--search", "eval-samples=5,0")
}

// A folder that cannot be made is an error before the evaluation, which may take hours.
func TestEvalOutFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "train", "--data", smallData, "--hidden", "8", "--batch", "32", "--max-batches", "2", "-q", "--out", "run")
	if err := os.WriteFile("file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	// Inference within one byte fails too.
	fail(t, exitFailed, []string{"the evaluation cannot be saved"}, "eval", "--run", "run", "--split", "train", "--out", "file", "--memory", "1")
}
