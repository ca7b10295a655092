package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/run"
)

// TestSamplesAuto checks that --samples auto trains with the numbers of gcn study advise,
// that config.json holds them, and that the same command line resumes the run.
func TestSamplesAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	const data = "synth:demo?nodes=1500&edges=10000&features=8"
	var advice struct {
		Method     string
		Samples    []int
		ExactInput bool `json:"exact_input"`
	}
	if err := json.Unmarshal([]byte(succeed(t, "study", "advise", data, "--batch", "64", "--json").stdout), &advice); err != nil {
		t.Fatal(err)
	}
	configuration := func(dir string) (method string, samples []int, exact bool) {
		text, err := os.ReadFile(dir + "/config.json")
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Method     string
			Samples    []int
			ExactInput bool `json:"exact_input"`
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		m, err := run.ParseMethod(c.Method)
		if err != nil {
			t.Fatal(err)
		}
		return c.Method, c.Samples, c.ExactInput || m.ExactInput // the method's own is not there
	}
	line := []string{"train", "--data", data, "--batch", "64", "--samples", "auto", "--out", "auto", "--resume", "--max-batches"}
	out := succeed(t, append(line, "20")...)
	method, samples, exact := configuration("auto")
	if method != advice.Method || !reflect.DeepEqual(samples, advice.Samples) || exact != advice.ExactInput || !exact {
		t.Errorf("trained with %s %v, exact input %v, the advice is %+v", method, samples, exact, advice)
	}
	if !strings.Contains(out.stderr, "--samples auto: "+run.MethodText(method, samples)) || !strings.Contains(out.stderr, "candidates for 200 mini-batches") {
		t.Errorf("the command does not say what it took: %s", out.stderr)
	}
	if out := succeed(t, append(line, "30")...); strings.Contains(out.stderr, "measuring") || !strings.Contains(out.stdout, "30 (--max-batches)") {
		t.Errorf("resumed: %s%s", out.stderr, out.stdout)
	}
	succeed(t, "train", "--data", data, "--batch", "64", "--samples", "auto", "--method", "ladies", "--max-batches", "3", "--out", "ladies")
	if method, samples, _ := configuration("ladies"); method != "ladies" || len(samples) != 2 {
		t.Errorf("--method ladies: %s %v", method, samples)
	}
	for name, options := range map[string][]string{ // the input is not sampled
		"exact": {"--exact-input"}, "deep": {"--layers", "3"}, "vast": {"--exact-input", "--batch", "1500"},
	} {
		line := append([]string{"train", "--data", data, "--batch", "64", "--samples", "auto", "--hidden", "8", "--max-batches", "3", "--out", name, "--resume"}, options...)
		succeed(t, line...)
		succeed(t, line...)
		method, samples, exact := configuration(name)
		if !exact || name == "exact" && len(samples) > 1 {
			t.Errorf("%s: %s, samples %v, exact input %v", name, method, samples, exact)
		}
	}
	// The advice may be the method full, which has no samples.
	tiny := []string{"train", "--data", "synth:demo?nodes=40&edges=60&features=4&classes=2", "--out", "tiny", "--resume", "--samples", "auto", "--max-batches"}
	succeed(t, append(tiny, "3")...)
	if method, _, _ := configuration("tiny"); method != "full" {
		t.Errorf("the tiny graph is trained with %s", method)
	}
	succeed(t, append(tiny, "5")...)
	succeed(t, "eval", "--run", "tiny")
	for words, args := range map[string][]string{
		"not for vrgcn":       {"train", "--method", "vrgcn"},
		"not for ladies-cv":   {"train", "--method", "ladies-cv"},
		"without keys":        {"train", "--method", "ladies?flat=1"},
		"is for gcn train":    {"bench", "train"},
		"want a whole number": {"bench", "sampling"},
	} {
		fail(t, exitUsage, []string{"--samples", words}, append(args, "--samples", "auto")...)
	}
}

// TestFewSamples checks that a run says in one line if its samples were far too few, and
// says nothing otherwise.
func TestFewSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	for options, few := range map[string]bool{
		"ladies-flat-debiased --samples 32":   true,
		"ladies-flat-debiased --samples 2000": false,
		"fastgcn-flat-debiased --samples 32":  true,
	} {
		line := strings.Fields("train --data synth:demo?nodes=3000&edges=20000 --batch 64 --max-batches 20 --method " + options)
		out := succeed(t, append(line, "--out", options)...)
		if n := strings.Count(out.stderr, "are few for this graph"); n == 1 != few || n > 1 {
			t.Errorf("--method %s: %s", options, out.stderr)
		}
	}
}
