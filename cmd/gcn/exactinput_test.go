package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/longtest"
	"github.com/gcn-layerwise/gcn/run"
)

// Every method trains with exact input, and is resumed, scored and repeated by its folder
// alone.
func TestExactInputOfEveryMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	line := slices.Concat([]string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "--exact-input", "-q"}, paperSteps)
	for k, method := range run.MethodNames() {
		if k%4 > 1 && !longtest.Wanted() { // half of them always, of both depths
			continue
		}
		options := []string{"--method", method, "--layers", fmt.Sprint(2 + k%2)}
		if k%3 == 0 {
			options = append(options, "--residual", "--layer-norm")
		}
		args := append(append(line, options...), "--out", method)
		succeed(t, append(args, "--max-batches", "10")...)
		trained := object(t, succeed(t, "train", "--out", method, "--resume", "--max-batches", "20", "--json", "-q"))
		if trained["exact_input"] != true || trained["batches"] != 20.0 {
			t.Errorf("%s: %v", method, trained)
		}
		e := object(t, succeed(t, "eval", "--run", method, "--json"))
		if e["score"] != trained["test"] {
			t.Errorf("%s: eval gives %v, training gave %v", method, e, trained)
		}
		succeed(t, "train", "--config", method, "--out", method+"-again", "-q", "--workers", "3")
		if !bytes.Equal(weightsOf(t, method), weightsOf(t, method+"-again")) {
			t.Errorf("%s: a run that was stopped has other weights", method)
		}
	}
}

func TestExactInput(t *testing.T) {
	t.Chdir(t.TempDir())
	args := func(more ...string) []string {
		return append([]string{"train", "--data", smallData, "--batch", "64", "--hidden", "16", "--max-batches", "10", "--exact-input", "--json"}, more...)
	}
	// A number for the input is not used; a single number is for all layers.
	one := succeed(t, args("--samples", "64,32", "--out", "two")...)
	if m := object(t, one); fmt.Sprint(m["samples"]) != "[64]" || !strings.Contains(one.stderr, "takes 1 of the numbers of --samples: 32 is not used") {
		t.Errorf("%v: %s", m["samples"], one.stderr)
	}
	succeed(t, args("--samples", "64", "--out", "one", "-q")...)
	if !bytes.Equal(weightsOf(t, "one"), weightsOf(t, "two")) {
		t.Error("the input's number changes the weights")
	}
	full := []string{"train", "--data", smallData, "--method", "full", "--samples", "9", "--max-batches", "1", "--out", "full"}
	if out := succeed(t, full...); !strings.Contains(out.stderr, "--method full takes 0 of the numbers of --samples: 9 is not used") {
		t.Errorf("full: %s", out.stderr)
	}
	if m := object(t, succeed(t, args("--samples", "64", "--layers", "3", "--out", "three", "-q")...)); fmt.Sprint(m["samples"]) != "[64 64]" {
		t.Errorf("three layers: %v", m["samples"])
	}
	if m := object(t, succeed(t, args("--samples", "64,32", "--layers", "3", "--out", "list", "-q")...)); fmt.Sprint(m["samples"]) != "[64 32]" {
		t.Errorf("a list: %v", m["samples"])
	}
	fail(t, exitUsage, []string{"--layers 1", "nothing is left"}, args("--layers", "1")...)
	fail(t, exitUsage, []string{"--samples 1,2,3 has 3 numbers", "2 layers need 1"}, args("--samples", "1,2,3", "--layers", "2")...)

	// P·X from a store gives the same weights, and a table that says so.
	succeed(t, "datasets", "convert", smallData, "px.store", "--propagated")
	table := succeed(t, "train", "--data", "store:px.store", "--batch", "64", "--hidden", "16", "--max-batches", "10", "--exact-input", "--samples", "64", "--out", "stored")
	if !strings.Contains(table.stdout, "samples 64, exact input") {
		t.Errorf("the table is\n%s", table.stdout)
	}
	if !bytes.Equal(weightsOf(t, "one"), weightsOf(t, "stored")) {
		t.Error("P·X of a store gives other weights")
	}
	if info := succeed(t, "datasets", "info", "store:px.store"); !strings.Contains(info.stdout, "propagated features") {
		t.Errorf("info says\n%s", info.stdout)
	}
	succeed(t, "datasets", "convert", smallData, "half.store", "--propagated", "--features", "float16")
	half := object(t, succeed(t, "train", "--data", "store:half.store", "--batch", "64", "--hidden", "16", "--max-batches", "10", "--exact-input", "--samples", "64", "--out", "half", "--json", "-q"))
	if score := half["test"].(float64); !(score > 0) {
		t.Errorf("half precision: %v", half)
	}
}

// Controls of parts and of ladies-cv: their folders resume them, and parts that go against
// a control are refused.
func TestControls(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, options := range map[string]string{
		"ladies-cv?every=7":                                             "--samples 48,48 --layers 3",
		"mvs?every=7&half=1":                                            "--samples 48",
		"mvs?every=7":                                                   "--samples 48",
		"ladies-cv?every=8":                                             "--samples 48",
		"ladies-cv?every=7&linear=0":                                    "--samples 48",
		"mvs?every=7&half=1&linear=1":                                   "--samples 48",
		"ladies-cv?every=7&half=1&linear=0":                             "--samples 48",
		"ladies-flat-debiased?control=refresh&every=7&linear=1":         "--exact-input --samples 48",
		"ladies-flat-debiased?control=refresh&every=7":                  "--samples 48,48",
		"ladies-debiased?control=rolling":                               "--samples 48,48 --layers 3 --exact-input",
		"fastgcn?draw=systematic&control=refresh&every=7":               "--samples 48 --exact-input",
		"ladies-flat-debiased?population=nodes&control=refresh&every=7": "--samples 48,48",
	} {
		line := slices.Concat([]string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "-q", "--method", name, "--out", name}, paperSteps, strings.Fields(options))
		succeed(t, append(line, "--max-batches", "10")...)
		trained := object(t, succeed(t, "train", "--out", name, "--resume", "--max-batches", "20", "--json", "-q"))
		if trained["method"] != name || !(trained["state_bytes"].(float64) > 0) || (trained["refresh_s"] != nil) != !strings.Contains(name, "rolling") {
			t.Errorf("%s: %v", name, trained)
		}
		succeed(t, "train", "--config", name, "--out", name+"-again", "-q", "--max-batches", "20")
		if !bytes.Equal(weightsOf(t, name), weightsOf(t, name+"-again")) {
			t.Errorf("%s: a run that was stopped has other weights", name)
		}
		if e := object(t, succeed(t, "eval", "--run", name, "--json")); e["score"] != trained["test"] {
			t.Errorf("%s: eval gives %v, training gave %v", name, e["score"], trained["test"])
		}
	}
	// ladies-cv is made of parts: it has other noise of dropout, and can be without the linear control.
	small := slices.Concat([]string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "-q", "--samples", "48", "--max-batches", "20"}, paperSteps)
	weights := func(dir string, options ...string) []byte {
		succeed(t, slices.Concat(small, options, []string{"--out", dir})...)
		return weightsOf(t, dir)
	}
	cv, parts := []string{"--method", "ladies-cv?every=7&linear=0"}, []string{"--exact-input", "--method", "ladies-flat-debiased?control=refresh&every=7"}
	if bytes.Equal(weights("cv", cv...), weights("parts", parts...)) {
		t.Error("ladies-cv has the noise of dropout of its parts")
	}
	dry := []string{"--dropout", "0", "--classifier-dropout", "0"}
	if !bytes.Equal(weights("cv-dry", append(cv, dry...)...), weights("parts-dry", append(parts, dry...)...)) {
		t.Error("without dropout and the linear control, the parts of ladies-cv give other weights")
	}
	cv[1], parts[2] = "ladies-cv?every=7", parts[2]+"&linear=1"
	if linear := weights("linear", append(cv, dry...)...); !bytes.Equal(linear, weights("parts-linear", append(parts, dry...)...)) || bytes.Equal(linear, weightsOf(t, "cv-dry")) {
		t.Error("ladies-cv of two layers has other weights than its parts, or those without the linear control")
	}
	// The folder of several runs holds the interval too.
	several := []string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "-q", "--schedule", "none?warm-up=0", "--eval-every", "10", "--method", "ladies-cv?every=7", "--samples", "48", "--runs", "2", "--out", "two"}
	succeed(t, append(several, "--max-batches", "10")...)
	succeed(t, "train", "-q", "--out", "two", "--resume", "--max-batches", "20")
	succeed(t, "train", "-q", "--config", "two/config.json", "--out", "again", "--max-batches", "20")
	if !bytes.Equal(weightsOf(t, "two/seed-2"), weightsOf(t, "again/seed-2")) {
		t.Error("several runs that were stopped have other weights")
	}
	// In half precision the histories are half as large. The table names them and P·X.
	by := func(method string) []string {
		return []string{"train", "--data", smallData, "--hidden", "8", "--batch", "32", "--max-batches", "10", "--samples", "48", "--method", method}
	}
	whole := object(t, succeed(t, append(by("ladies-cv?linear=0"), "--out", "whole", "--json", "-q")...))
	half := by("ladies-cv?half=1&linear=0")
	succeed(t, append(half, "--out", "half", "-q")...)
	again := object(t, succeed(t, append(half, "--out", "again-half", "--json", "-q")...))
	if bytes.Equal(weightsOf(t, "half"), weightsOf(t, "whole")) || !bytes.Equal(weightsOf(t, "half"), weightsOf(t, "again-half")) {
		t.Error("half=1: want other weights than without it, and the same in each run")
	}
	if again["state_bytes"].(float64)*2 != whole["state_bytes"] || again["input_bytes"] != whole["input_bytes"] {
		t.Errorf("half=1: %v and %v bytes, without it %v and %v", again["state_bytes"], again["input_bytes"], whole["state_bytes"], whole["input_bytes"])
	}
	// The linear control keeps P·(P·X) of the training nodes.
	linear := object(t, succeed(t, append(by("ladies-cv"), "--out", "whole-linear", "--json", "-q")...))
	if more := linear["state_bytes"].(float64) - whole["state_bytes"].(float64); !(more > 0) || math.Mod(more, 4) != 0 {
		t.Errorf("the linear control keeps %v bytes", more)
	}
	for _, method := range []string{"ladies-cv", "ladies-cv?half=1&linear=0"} {
		fail(t, exitFailed, []string{"cannot resume: method was"}, "train", "--out", "whole", "--resume", "--max-batches", "20", "--method", method)
	}
	fail(t, exitFailed, []string{"cannot resume: method was"}, "train", "--out", "whole-linear", "--resume", "--max-batches", "20", "--method", "ladies-cv?linear=0")
	for options, want := range map[string]string{
		"--method ladies-debiased?control=rolling&half=1":                 "control=refresh",
		"--method ladies?half=1":                                          "control=refresh",
		"--method ladies?control=refresh":                                 "biased",
		"--method ladies-debiased?control=rolling&normalize=1":            "biased",
		"--method ladies-debiased?control=rolling&rows=1":                 "biased",
		"--method ladies-debiased?control=refresh --layers 1":             "no activations",
		"--method ladies?control=sometimes":                               "want none, refresh or rolling",
		"--method mvs --seeds uniform":                                    "ladies-cv",
		"--method mvs --micro 2":                                          "does not go with --micro 2",
		"--method ladies-cv --layers 1":                                   "nothing is left",
		"--method ladies-cv --layers 2 --samples 1,2,3":                   "2 layers need 1",
		"--method ladies-cv?every=0":                                      "every=0: want at least 1",
		"--method ladies-cv?linear=1 --layers 3":                          "not for --layers 3",
		"--method ladies-cv?linear=1 --layer-norm":                        "--layer-norm: it excludes the linear control",
		"--method ladies-cv?linear=1 --batch-norm":                        "--batch-norm: it excludes the linear control",
		"--method ladies-cv?linear=1 --residual":                          "--residual: it excludes the linear control",
		"--method ladies-cv?linear=1 --hidden-residual linear":            "--hidden-residual: it excludes the linear control",
		"--method ladies-cv?linear=1 --activation gelu":                   "--activation: GELU excludes the linear control",
		"--method ladies?linear=1":                                        "control=refresh",
		"--method vrgcn?linear=1":                                         "takes no keys",
		"--method ladies-debiased?control=refresh&linear=1":               "linear=1 needs --exact-input",
		"--method ladies-debiased?control=rolling&linear=1 --exact-input": "control=refresh",
		"--method ladies?every=5":                                         "control=refresh",
	} {
		fail(t, exitUsage, []string{want}, append([]string{"train", "--data", smallData}, strings.Fields(options)...)...)
	}
}
