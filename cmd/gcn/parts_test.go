package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestOwnRowsOfMethods trains with parts that read a node's own row of each convolution's
// input: every method goes with them, or refuses them before anything is read.
func TestOwnRowsOfMethods(t *testing.T) {
	t.Chdir(t.TempDir())
	for k, method := range slices.Concat(samplers.Methods(), samplers.Methods()) {
		own := []string{"--hidden-residual", "linear"}
		if k >= len(samplers.Methods()) {
			own = []string{"--jumping", "concat"}
		}
		flags := []string{"train", "--data", smallData, "--method", method.Name, "--hidden", "8", own[0], own[1], "--batch", "32", "--max-batches", "2", "-q", "--out", fmt.Sprint(method.Name, k)}
		if method.Sizes == "nodes a layer" {
			flags = append(flags, "--samples", "32")
		}
		if method.Learned() {
			fail(t, exitUsage, []string{own[0] + " " + own[1]}, flags...)
			continue
		}
		succeed(t, flags...)
	}
}

// TestPartsRefused gives parts that do not go together.
func TestPartsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for options, want := range map[string]string{
		"--label-inputs 1 --input-layer":                                            "[0, 1)",
		"--label-inputs 0.5":                                                        "needs --input-layer",
		"--label-inputs 0.5 --input-layer --exact-input":                            "excludes --exact-input",
		"--label-inputs 0.5 --input-layer --method ladies-cv":                       "than ladies-cv",
		"--label-inputs 0.5 --input-layer --method vrgcn":                           "than vrgcn",
		"--label-inputs 0.5 --input-layer --method ladies-debiased?control=rolling": "excludes control variates",
		"--label-inputs 0.5 --input-layer --seeds loss":                             "excludes --seeds loss",
	} {
		fail(t, exitUsage, []string{want}, append([]string{"train", "--data", smallData, "--out", "x"}, strings.Fields(options)...)...)
	}
	// Options may be combined so that one has no effect, and the runs are resumed.
	succeed(t, trainArgs("-q", "--max-batches", "2", "--out", "run", "--pre-norm", "--layer-norm")...)
	config := bytes.Replace(readFile(t, "run/config.json"), []byte(`"layer_norm": true`), []byte(`"layer_norm": false`), 1)
	writeFile(t, "run/config.json", config)
	fail(t, exitFailed, []string{"cannot resume", "layer_norm"}, "train", "--out", "run", "--resume", "--max-batches", "3")
	succeed(t, "tune", "--data", smallData, "--hidden", "8", "--batch", "32", "--samples", "32", "--max-batches", "6", "--eval-every", "1", "--search", "pre-norm=true", "--search", "layer-norm=true,false", "--out", "search", "-q")
}

// TestLabelInputs trains with label inputs by each method, or is refused, and takes one run
// through resuming, evaluation and prediction.
func TestLabelInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, method := range samplers.Methods() {
		flags := []string{"train", "--data", smallData, "--method", method.Name, "--hidden", "8", "--input-layer", "--label-inputs", "0.4", "--batch", "32", "--max-batches", "2", "-q", "--out", method.Name}
		if strings.HasPrefix(method.Sizes, "nodes a layer") {
			flags = append(flags, "--samples", "32")
		}
		if method.Controlled() {
			fail(t, exitUsage, []string{"--label-inputs 0.4 excludes control variates", method.Name}, flags...)
			continue
		}
		succeed(t, flags...)
	}
	line := trainArgs("-q", "--input-layer", "--label-inputs", "0.4", "--batch", "32")
	trained := object(t, succeed(t, append(line, "--out", "whole", "--max-batches", "20", "--json")...))
	succeed(t, append(line, "--out", "again", "--max-batches", "20", "--workers", "1")...)
	succeed(t, append(line, "--out", "stopped", "--max-batches", "10")...)
	succeed(t, "train", "-q", "--out", "stopped", "--resume", "--max-batches", "20")
	for _, dir := range []string{"again", "stopped"} {
		if !bytes.Equal(weightsOf(t, dir), weightsOf(t, "whole")) {
			t.Errorf("%s: other weights", dir)
		}
	}
	succeed(t, append(line, "--out", "other", "--max-batches", "20", "--label-inputs", "0.6")...)
	if bytes.Equal(weightsOf(t, "other"), weightsOf(t, "whole")) {
		t.Error("the share changes nothing")
	}
	fail(t, exitFailed, []string{"cannot resume", "label_inputs"}, "train", "--out", "whole", "--resume", "--label-inputs", "0.6", "--max-batches", "30")
	if e := object(t, succeed(t, "eval", "--run", "whole", "--json")); e["score"] != trained["test"] {
		t.Errorf("eval gives %v, training gave %v", e["score"], trained["test"])
	}
	succeed(t, "predict", "--run", "whole", "--out", "scores.npy")
}
