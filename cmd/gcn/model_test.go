package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOneModel checks that "gcn train" and "gcn reproduce" train the same model: the same
// seed gives both the same losses.
func TestOneModel(t *testing.T) {
	t.Chdir(t.TempDir())
	flags := []string{"--data", smallData, "--samples", "32,32", "-q"}
	succeed(t, append([]string{"train", "--recipe", "paper", "--method", "ladies", "--out", "a", "--batch", "32", "--hidden", "8", "--max-batches", "20"}, flags...)...)
	writeFile(t, "short.json", []byte(`{"batch": 32, "hidden": 8, "max-batches": 20}`))
	succeed(t, append([]string{"reproduce", "accuracy", "--methods", "ladies", "--runs", "1", "--config", "short.json"}, flags...)...)
	cells, err := filepath.Glob("reproduced/cells/*.jsonl")
	if err != nil || len(cells) != 1 {
		t.Fatalf("files of cells %v, error %v", cells, err)
	}
	var reproduced []float64
	for line := range bytes.Lines(readFile(t, cells[0])) {
		var cell struct {
			Result struct{ Curve []struct{ Loss float64 } }
		}
		if err := json.Unmarshal(line, &cell); err != nil {
			t.Fatal(err)
		}
		for _, point := range cell.Result.Curve { // a cell that describes the data has none
			reproduced = append(reproduced, point.Loss)
		}
	}
	if trained := losses(t, "a"); len(trained) != 2 || !slices.Equal(trained, reproduced) {
		t.Errorf("train has losses %v, reproduce %v", trained, reproduced)
	}
}

// TestClassifierDropout trains without dropout before the classifier.
func TestClassifierDropout(t *testing.T) {
	t.Chdir(t.TempDir())
	// The same bits with and without an interruption.
	flags := trainArgs("-q", "--eval-every", "4", "--max-batches")
	succeed(t, append(flags, "8", "--out", "whole", "--classifier-dropout", "0")...)
	succeed(t, append(flags, "4", "--out", "parts", "--classifier-dropout", "0")...)
	succeed(t, "train", "--out", "parts", "--resume", "-q", "--max-batches", "8")
	if !bytes.Equal(weightsOf(t, "whole"), weightsOf(t, "parts")) {
		t.Error("a run without dropout before the classifier resumes to other weights")
	}
	succeed(t, append(flags, "8", "--out", "today")...)
	if bytes.Equal(weightsOf(t, "whole"), weightsOf(t, "today")) {
		t.Error("the default has no dropout before the classifier")
	}
	fail(t, exitFailed, []string{"whole", "classifier_dropout was 0 and is now 0.2"}, "train", "--out", "whole", "--resume", "--classifier-dropout", "0.2", "-q")
}

// losses returns the training losses in a run's metrics.jsonl.
func losses(t *testing.T, dir string) []float64 {
	t.Helper()
	var all []float64
	for line := range strings.Lines(string(readFile(t, dir+"/metrics.jsonl"))) {
		var m struct{ Loss float64 }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Loss)
	}
	return all
}

func TestModelEquation(t *testing.T) {
	t.Chdir(t.TempDir())
	flags := trainArgs("-q", "--model", "equation", "--max-batches")
	m := object(t, succeed(t, append(flags, "40", "--out", "a", "--json")...))
	// 600 nodes of 16 features in 4 classes, hidden 16.
	if score := m["test"].(float64); !(score > 0.3 && score <= 1) {
		t.Errorf("test score %v", score)
	}
	config := string(readFile(t, "a/config.json"))
	for _, want := range []string{`"model": "equation"`, `"classifier_dropout": 0,`, `"parameters": "conv0.weight [`} {
		if !strings.Contains(config, want) {
			t.Errorf("config.json has no %s: %s", want, config)
		}
	}
	for _, not := range []string{".bias", "classifier.weight"} {
		if strings.Contains(config, not) {
			t.Errorf("config.json has %s: %s", not, config)
		}
	}
	succeed(t, append(flags, "20", "--out", "b")...)
	succeed(t, "train", "--out", "b", "--resume", "-q", "--max-batches", "40")
	if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, "b")) {
		t.Error("resumed to other weights")
	}
	if e := object(t, succeed(t, "eval", "--run", "a", "--json")); e["score"] != m["test"] {
		t.Errorf("eval gives %v, train %v", e, m["test"])
	}
	succeed(t, "predict", "--run", "a", "--out", "scores.npy")
	succeed(t, "bench", "train", "--model", "equation", "--data", smallData, "--samples", "32", "--batch", "32", "--batches", "60")
	succeed(t, "study", "norms", "--run", "a", "--out", "norms")

	fail(t, exitUsage, []string{"--model", "odd", "program or equation"}, "train", "--model", "odd")
	fail(t, exitUsage, []string{"--classifier-dropout 0.1", "no classifier"}, "train", "--model", "equation", "--classifier-dropout", "0.1")
	for _, method := range []string{"vrgcn", "ladies-cv", "mvs"} {
		fail(t, exitUsage, []string{"--pre-norm excludes", method}, "train", "--method", method, "--pre-norm")
		fail(t, exitUsage, []string{"--edge-dropout 0.1 excludes", method}, "train", "--method", method, "--edge-dropout", "0.1")
	}
	writeFile(t, "c.json", []byte(`{"model": "equation", "classifier_dropout": 0.2}`))
	fail(t, exitUsage, []string{"c.json", "no classifier"}, "train", "--config", "c.json")
	fail(t, exitFailed, []string{"a", `model was "equation" and is now "program"`}, "train", "--out", "a", "--resume", "--model", "program", "-q")
}
