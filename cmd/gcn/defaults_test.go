package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/train"
)

// defaultArgs trains with the default protocol, on small data.
func defaultArgs(args ...string) []string {
	return append([]string{"train", "--data", smallData, "--batch", "64", "--hidden", "16", "--max-batches", "20"}, args...)
}

// TestFallback trains models that keep no histories: a line names the option and the method
// taken, and config.json repeats the run. A method that was given stays.
func TestFallback(t *testing.T) {
	t.Chdir(t.TempDir())
	for options, blamed := range map[string]string{
		"":                                  "",
		"--conv gat":                        "--conv gat",
		"--layers 1":                        "--layers 1",
		"--input-layer":                     "--input-layer",
		"--pre-norm --layer-norm":           "--pre-norm",
		"--input-dropout 0.1":               "--input-dropout 0.1",
		"--edge-dropout 0.1":                "--edge-dropout 0.1",
		"--layers 1 --method ladies":        "",
		"--layers 1 --method ladies?flat=1": "",
	} {
		dir := "run " + options
		out := succeed(t, defaultArgs(append(strings.Fields(options), "--out", dir, "--json")...)...)
		said := blamed + ": ladies-cv keeps no histories of activations with it, so the method is ladies-flat-debiased\n"
		if n := strings.Count(out.stderr, "so the method is"); n > 1 || n == 1 != (blamed != "") || n == 1 && !strings.HasPrefix(out.stderr, said) {
			t.Errorf("%q: %s", options, out.stderr)
		}
		method := object(t, out)["method"]
		if given := strings.Contains(options, "--method"); !given && (method == run.DefaultMethod) != (blamed == "") {
			t.Errorf("%q: the method is %v", options, method)
		}
		again := succeed(t, "train", "--config", dir, "--out", dir+" again", "--json")
		if !bytes.Equal(weightsOf(t, dir), weightsOf(t, dir+" again")) || object(t, again)["method"] != method || strings.Contains(again.stderr, "so the method is") {
			t.Errorf("%q: config.json gives another run: %s", options, again.stderr)
		}
	}
	// A wrong value elsewhere does not put the blame on a file without a method.
	writeFile(t, "c.json", []byte(`{"conv": "gat"}`))
	fail(t, exitUsage, []string{"--rank-timeout -1s: want at least 0"}, defaultArgs("--rank-timeout", "-1s")...)
	fail(t, exitUsage, []string{"gcn: --lr 0"}, defaultArgs("--config", "c.json", "--lr", "0")...)
	succeed(t, "tune", "--data", smallData, "--batch", "64", "--hidden", "8", "--max-batches", "4", "--runs", "1", "--search", "layers=1,2", "--out", "search", "-q")
}

// TestLargeHistories bounds the histories: a run that would keep more of them has the method and
// the samples that the same options have with the paper's method.
func TestLargeHistories(t *testing.T) {
	t.Chdir(t.TempDir())
	data, err := openData(t.Context(), smallData)
	if err != nil {
		t.Fatal(err)
	}
	for k, c := range []struct{ options, same string }{
		{"", ""},
		{"--samples 64", "--samples 64"},
		{"--samples 64,32", "--samples 64,32"},
		{"--samples 64,32 --layers 3", "--samples 64,32,32"},
		{"--samples 48,64,32", "--samples 48,64,32"},
		{"--layers 3 --exact-input --samples 64", "--layers 3 --exact-input --samples 64"},
		{"--exact-input --samples 64,32", "--exact-input --samples 64"},
	} {
		dir := fmt.Sprint("left", k)
		var messages bytes.Buffer
		job := newTrainJob(&messages)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		run.AddFlags(fs, new(run.Settings))
		run.AddFlags(fs, &job.Output)
		if err := fs.Parse(defaultArgs(append(strings.Fields(c.options), "--out", dir)...)[1:]); err != nil {
			t.Fatal(err)
		}
		job.line = run.Values(fs)
		if err := job.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		bytesKept := 4 * int64(data.Nodes()) * int64(data.Features.Cols+(job.Layers-1)*16)
		if err := job.Resolve(t.Context(), data, bytesKept, nil); err != nil || job.Method.Name != run.DefaultMethod {
			t.Errorf("%s: as many bytes as may be: %v, method %s", c.options, err, job.Method.Name)
		}
		if err := job.Resolve(t.Context(), data, bytesKept-1, nil); err != nil || job.Method.Name != run.PaperMethod {
			t.Errorf("%s: too many bytes: %v, method %s", c.options, err, job.Method.Name)
		}
		job.data = data
		if !strings.Contains(messages.String(), "so the method is ladies-flat-debiased; --method ladies-cv") {
			t.Errorf("%s: %s", c.options, &messages)
		}
		if _, err := job.trainAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		succeed(t, defaultArgs(append(strings.Fields(c.same), "--method", run.PaperMethod, "--out", dir+"same", "-q")...)...)
		if !bytes.Equal(weightsOf(t, dir), weightsOf(t, dir+"same")) {
			t.Errorf("%s: other weights than %s --method %s", c.options, c.same, run.PaperMethod)
		}
	}
}

// TestAutoLimit chooses the number of mini-batches from the training nodes, or leaves it to the
// epochs, and the patience from the size of a mini-batch.
func TestAutoLimit(t *testing.T) {
	for _, c := range []struct {
		options        string
		nodes          int
		want, patience int
	}{
		{"", 51000, 3250, 800},
		{"", 91000, 5776, 800},
		{"--max-batches auto --batch 64", 41000, 41640, 12800},
		{"--batch 140", 140, 3250, 800},
		{"--micro 4", 400000, 6347, 800},
		{"--batch 4294967296 --micro 4294967296", 200000, 3250, 800},
		{"--method cluster --batch 512 --micro 2", 200000, 3250, 800},
		{"--max-batches 7 --batch 512", 200000, 7, 1600},
		{"--max-batches 0 --schedule none --batch 16 --patience 9", 200000, 0, 9},
		{"--epochs 1844674407370955162 --patience 0", 200000, 0, 0}, // times 10 is 4, modulo 2^64
	} {
		job := newTrainJob(io.Discard)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		run.AddFlags(fs, new(run.Settings))
		if err := fs.Parse(strings.Fields(c.options)); err != nil {
			t.Fatal(err)
		}
		job.line = run.Values(fs)
		if err := job.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		job.ChooseLimits(&datasets.Data{Split: datasets.Split{Train: make([]int32, c.nodes)}})
		if job.MaxBatches != c.want || job.Patience != c.patience {
			t.Errorf("%s with %d training nodes: %d mini-batches, patience %d, want %d, %d", c.options, c.nodes, job.MaxBatches, job.Patience, c.want, c.patience)
		}
	}
}

// TestDefaultSamples gives a number for the input, which the default method does not sample.
func TestDefaultSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	out := succeed(t, defaultArgs("--samples", "64,32", "--out", "two", "--json")...)
	if m := object(t, out); fmt.Sprint(m["samples"]) != "[64]" || m["method"] != run.DefaultMethod {
		t.Errorf("%v", m)
	}
	if !strings.Contains(out.stderr, "--method ladies-cv takes 1 of the numbers of --samples: 32 is not used") {
		t.Errorf("standard error: %s", out.stderr)
	}
}

// TestRisingHint runs short: a line says so, with a command that trains on.
func TestRisingHint(t *testing.T) {
	t.Chdir(t.TempDir())
	line := []string{"train", "--data", "synth:demo?nodes=3000&edges=20000", "--batch", "64", "--hidden", "32", "--out"}
	for name, c := range map[string]struct{ options, resume string }{
		"one":     {"--max-batches 20", "--max-batches 40"},
		"several": {"--max-batches 20 --runs 2", "--max-batches 40"},
		"epochs":  {"--epochs 2", "--epochs 4"},
	} {
		out := succeed(t, append(append(line, name), strings.Fields(c.options)...)...)
		said := "in the second half of the run: more may help: gcn train --out " + name + " --resume " + c.resume + "\n"
		if !strings.Contains(out.stderr, said) || strings.Count(out.stderr, "more may help") != 1 {
			t.Errorf("%s: %s", name, out.stderr)
		}
		more := succeed(t, append([]string{"train", "--out", name, "--resume"}, strings.Fields(c.resume)...)...)
		if n := strings.Count(more.stderr, "the run had the limit of 20 mini-batches: the step size falls once more, from half of the rate before to 0 at batch 40\n"); n != 1 {
			t.Errorf("%s: resumed: %s", name, more.stderr)
		}
		dir := name
		if name == "several" {
			dir = "several/seed-2"
		}
		if result := string(readFile(t, dir+"/result.json")); !strings.Contains(result, `"falls": 1,`) || !strings.Contains(result, `"batches": 40,`) {
			t.Errorf("%s: %s", name, result)
		}
	}
	long := &train.Result{Batches: 100, Stop: "max-batches", Best: 0.9, Evaluations: []train.Evaluation{{Batch: 50, Valid: 0.7}, {Batch: 90, Valid: 0.9}}}
	rises := func(history *train.Result, nodes int) string { return risingHint(new(run.Plan), history, nodes, "dir") }
	if hint := rises(long, 400); !strings.Contains(hint, "from 0.7000 to 0.9000") {
		t.Error(hint)
	}
	if rises(long, 10) != "" {
		t.Error("a rise within three standard errors is one")
	}
	stopped := *long
	stopped.Stop = "patience"
	if rises(&stopped, 400) != "" {
		t.Error("a run that stopped by itself rises")
	}
	early := *long
	early.Evaluations = long.Evaluations[1:]
	if rises(&early, 400) != "" {
		t.Error("a run without a score in its first half rises")
	}
}

// TestResumeWithinCosine changes the limit of a run whose step size is falling, and lowers the
// limit of one that has ended: both are errors.
func TestResumeWithinCosine(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan output, 1)
	go func() {
		ended <- gcnContext(ctx, defaultArgs("-q", "--out", "run", "--max-batches", "1000000", "--patience", "0", "--config", checkpoints(t, 0))...)
	}()
	for len(ended) == 0 {
		if _, err := os.Stat("run/last.ckpt"); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if out := <-ended; out.code != exitInterrupted {
		t.Fatalf("exit code %d: %s", out.code, out.stderr)
	}
	for _, limit := range []string{"900000", "1100000"} {
		fail(t, exitFailed, []string{"cannot resume: the step size falls to 0 at batch 1000000"}, "train", "--out", "run", "--resume", "--max-batches", limit)
	}
	succeed(t, defaultArgs("-q", "--out", "done")...)
	before := readFile(t, "done/config.json")
	fail(t, exitFailed, []string{"cannot resume: batch 20 is done, and the limit is 10"}, "train", "--out", "done", "--resume", "--max-batches", "10")
	if !bytes.Equal(before, readFile(t, "done/config.json")) {
		t.Error("a refused limit is in config.json")
	}
}

// TestClassHints checks the lines about classes that the model does not know.
func TestClassHints(t *testing.T) {
	y := &graph.Labels{Classes: 4, Class: []int32{0, 1, 2, 0, 1, 2, 0, 1, 2, 2}, Names: []string{"a", "b", "c", "d"}}
	split := datasets.Split{Train: []int32{0, 1, 2}, Test: []int32{3, 4, 5, 6, 7, 8, 9}}
	alike := datasets.Split{Train: []int32{0, 3, 6}, Test: split.Test}
	for _, c := range []struct {
		predicted []int
		split     datasets.Split
		balanced  bool
		want      string // comma-separated
	}{
		{[]int{3, 2, 2, 0}, split, false, ""}, // d has no nodes
		{[]int{4, 0, 3, 0}, split, false, "never predicted: 1 of 4 classes: b; --class-weights balanced"},
		{[]int{4, 0, 3, 0}, split, true, "never predicted: 1 of 4 classes: b"},
		{[]int{0, 0, 7, 0}, split, false, "all test nodes are predicted as c: try a smaller --lr,normalize=standardize"},
		{[]int{7, 0, 0, 0}, alike, false, "all training nodes with a label have the class a,gcn datasets info"},
	} {
		o := &run.Plan{}
		if c.balanced {
			o.ClassWeights = "balanced"
		}
		job := &trainJob{Job: run.Job{Plan: o, History: &train.Result{Predicted: c.predicted, Best: math.NaN()}}, data: &datasets.Data{Labels: y, Split: c.split}}
		got := job.hints(t.Context())
		if len(got) > 1 || len(got) == 0 != (c.want == "") {
			t.Errorf("%v: %q, want %q", c.predicted, got, c.want)
			continue
		}
		for _, want := range strings.Split(c.want, ",") {
			if line := strings.Join(got, ""); !strings.Contains(line, want) || c.balanced && strings.Contains(line, "--class-weights") {
				t.Errorf("%v: %q, want %q", c.predicted, line, want)
			}
		}
	}
	many := &graph.Labels{Classes: 9, Class: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}, Names: strings.Split("abcdefghi", "")}
	all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8}
	if line := classHint([]int{5, 4, 0, 0, 0, 0, 0, 0, 0}, many, datasets.Split{Train: all, Test: all}, true); line != "never predicted: 7 of 9 classes: c, d, e, f, g, …" {
		t.Error(line)
	}
	t.Chdir(t.TempDir())
	out := succeed(t, defaultArgs("--out", "stuck", "--lr", "1e-9")...)
	if !strings.Contains(out.stderr, "never predicted: ") && !strings.Contains(out.stderr, "all test nodes are predicted as") {
		t.Errorf("weights as they began: %s", out.stderr)
	}
	if out := succeed(t, defaultArgs("--out", "quiet", "--lr", "1e-9", "-q")...); slices.Contains(strings.Fields(out.stderr), "predicted") {
		t.Errorf("with -q: %s", out.stderr)
	}
}

// TestConfigOfAnotherMethod changes the method or the model of a default run's config.json:
// it does not hold the parts that follow from them.
func TestConfigOfAnotherMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	small := []string{"train", "-q", "--data", smallData, "--max-batches", "2", "--batch", "32"}
	succeed(t, append(small, "--out", "first")...)
	for option, method := range map[string]string{
		"--method ladies-flat-debiased": "ladies-flat-debiased", "--method full": "full", "--method neighbor": "neighbor",
		"--method ladies?draw=poisson": "ladies?draw=poisson", "--layers 3": "ladies-cv", "--layer-norm": "ladies-cv", "": "ladies-cv",
	} {
		out := succeed(t, append([]string{"train", "-q", "--config", "first/config.json", "--out", "next", "--overwrite", "--json"}, strings.Fields(option)...)...)
		if got := object(t, out)["method"]; got != method {
			t.Errorf("%s: method %v, want %s", option, got, method)
		}
	}
	succeed(t, "train", "-q", "--config", "first/config.json", "--out", "next", "--overwrite")
	if !bytes.Equal(weightsOf(t, "first"), weightsOf(t, "next")) {
		t.Error("config.json alone gives other weights")
	}
}

// TestTryNorm trains both candidates of the trial by their options, and compares their scores with
// the choice. There is no trial with other options of the method, the norm or the limit, and with few
// training nodes. A candidate that diverges loses. A run's folder holds the choice.
func TestTryNorm(t *testing.T) {
	t.Chdir(t.TempDir())
	try := func(line ...string) ([]run.Value, string) {
		var messages bytes.Buffer
		job := newTrainJob(&messages)
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		run.AddFlags(fs, new(run.Settings))
		if err := fs.Parse(line); err != nil {
			t.Fatal(err)
		}
		job.line = run.Values(fs)
		if err := job.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		data, err := openData(t.Context(), job.Data)
		if err != nil {
			t.Fatal(err)
		}
		values, err := job.TryNorm(t.Context(), data, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		tried := strings.Contains(messages.String(), "a trial of layer norm")
		if _, err := job.TryNorm(ctx, data, func(int, int) { cancel() }); tried != errors.As(err, new(run.Interrupted)) {
			t.Errorf("%v, interrupted: %v", line, err)
		}
		cancel()
		return values, messages.String()
	}
	chosen := map[bool]int{}
	for _, data := range []string{"synth:mag?nodes=3000&edges=20000", "synth:proteins?nodes=2000&edges=40000"} {
		line := []string{"--data", data, "--batch", "64", "--hidden", "16"}
		score := func(options ...string) float64 {
			args := append([]string{"train", "--out", "run", "--overwrite", "--json", "-q", "--max-batches", "200", "--eval-every", "100",
				"--schedule", "none"}, append(line, options...)...)
			return object(t, succeed(t, args...))["best_valid"].(float64)
		}
		without, with := score(), score("--layer-norm", "--lr", "0.005")
		values, message := try(line...)
		chosen[values != nil]++
		if (values != nil) != (with > without) || !strings.Contains(message, fmt.Sprintf("score %.4f with it, %.4f without", with, without)) {
			t.Errorf("%s: %v, the options have %.4f without and %.4f with layer norm: %s", data, values, without, with, message)
		}
		if values, message := try(append(line, "--lr", "1e30")...); values != nil || !strings.Contains(message, "score -Inf with it, -Inf without") {
			t.Errorf("--lr 1e30: %v %s", values, message)
		}
		for _, given := range []string{"--layer-norm=false", "--batch-norm", "--method full", "--max-batches 4000", "--epochs 3", "--batch 3000", "--layers 1", "--partition features"} {
			if values, message := try(append(line, strings.Fields(given)...)...); values != nil || message != "" && given != "--layers 1" {
				t.Errorf("%s: %v %s", given, values, message)
			}
		}
	}
	if len(chosen) != 2 {
		t.Errorf("choices %v: want a graph with layer norm and one without", chosen)
	}
	short := []string{"train", "--data", "synth:mag?nodes=3000&edges=20000", "--batch", "64", "--hidden", "16", "--patience", "20", "--eval-every", "10"}
	out := succeed(t, append(short, "--out", "whole")...)
	var config map[string]any
	if err := json.Unmarshal(readFile(t, "whole/config.json"), &config); err != nil {
		t.Fatal(err)
	}
	if config["layer_norm"] != true || config["lr"] != 0.005 || !strings.Contains(out.stderr, "training with --layer-norm --lr 0.005") {
		t.Errorf("config.json has layer_norm %v, lr %v: %s", config["layer_norm"], config["lr"], out.stderr)
	}
	for _, again := range [][]string{{"--out", "whole", "--resume", "--patience", "25"}, {"--config", "whole/config.json", "--out", "next"}} {
		if out := succeed(t, append([]string{"train"}, again...)...); strings.Contains(out.stderr, "trial") {
			t.Errorf("%v: another trial: %s", again, out.stderr)
		}
	}
}
