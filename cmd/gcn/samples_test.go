package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestSamplesAuto checks that --samples auto trains with the numbers of gcn study advise,
// that config.json holds them, and that the same command line resumes the run.
func TestSamplesAuto(t *testing.T) {
	t.Chdir(t.TempDir())
	const data = "synth:demo?nodes=3000&edges=20000"
	var advice struct {
		Method  string
		Samples []int
	}
	if err := json.Unmarshal([]byte(succeed(t, "study", "advise", data, "--batch", "64", "--json").stdout), &advice); err != nil {
		t.Fatal(err)
	}
	configuration := func(dir string) (method string, samples []int) {
		text, err := os.ReadFile(dir + "/config.json")
		if err != nil {
			t.Fatal(err)
		}
		var c struct {
			Method  string
			Samples []int
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		return c.Method, c.Samples
	}
	line := []string{"train", "--data", data, "--batch", "64", "--samples", "auto", "--out", "auto", "--resume", "--max-batches"}
	out := succeed(t, append(line, "20")...)
	method, samples := configuration("auto")
	if method != advice.Method || !reflect.DeepEqual(samples, advice.Samples) || len(samples) != 2 {
		t.Errorf("trained with %s %v, the advice is %s %v", method, samples, advice.Method, advice.Samples)
	}
	if !strings.Contains(out.stderr, "--samples auto: "+methodText(method, samples)) {
		t.Errorf("the command does not say what it took: %s", out.stderr)
	}
	if out := succeed(t, append(line, "30")...); strings.Contains(out.stderr, "measuring") || !strings.Contains(out.stdout, "30 (--max-batches)") {
		t.Errorf("resumed: %s%s", out.stderr, out.stdout)
	}
	succeed(t, "train", "--data", data, "--batch", "64", "--samples", "auto", "--method", "ladies", "--max-batches", "3", "--out", "ladies")
	if method, samples := configuration("ladies"); method != "ladies" || len(samples) != 2 {
		t.Errorf("--method ladies: %s %v", method, samples)
	}
	// With exact input, only the layers above the input have a number.
	for name, args := range map[string][]string{"cv": {"--method", "ladies-cv"}, "exact": {"--exact-input"}} {
		line := append([]string{"train", "--data", data, "--batch", "64", "--samples", "auto", "--out", name, "--resume"}, args...)
		succeed(t, append(line, "--max-batches", "3")...)
		if _, samples := configuration(name); len(samples) != 1 {
			t.Errorf("%v: samples %v, want one number", args, samples)
		}
		succeed(t, append(line, "--max-batches", "4")...)
	}
	for words, args := range map[string][]string{
		"not for vrgcn":        {"train", "--method", "vrgcn"},
		"a method by its name": {"train", "--flat"},
		"is for gcn train":     {"bench", "train"},
		"not a whole number":   {"bench", "sampling"},
	} {
		fail(t, exitUsage, []string{"--samples", words}, append(args, "--samples", "auto")...)
	}
}

// TestFewSamples checks that a run says in one line if its samples were far too few, and
// says nothing otherwise.
func TestFewSamples(t *testing.T) {
	t.Chdir(t.TempDir())
	for samples, few := range map[string]bool{"32": true, "2000": false} {
		out := succeed(t, "train", "--data", "synth:demo?nodes=3000&edges=20000", "--batch", "64", "--samples", samples, "--max-batches", "20", "--out", samples)
		if n := strings.Count(out.stderr, "are few for this graph"); n == 1 != few || n > 1 {
			t.Errorf("--samples %s: %s", samples, out.stderr)
		}
	}
}

// TestSeeds checks the flag --seeds: its config.json gives the same run again, and wrong
// combinations are errors.
func TestSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	small := []string{"train", "--data", "synth:demo?nodes=1000&edges=5000", "--batch", "64", "--max-batches", "30", "--hidden", "16", "-q"}
	succeed(t, append(small, "--seeds", "gradient", "--seeds-every", "5", "--out", "a")...)
	succeed(t, "train", "-q", "--config", "a/config.json", "--out", "b")
	succeed(t, append(small, "--out", "uniform")...)
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if read("a/best.ckpt") != read("b/best.ckpt") || !strings.Contains(read("a/config.json"), `"seeds": "gradient"`) {
		t.Error("the configuration gives another run")
	}
	if strings.Contains(read("uniform/config.json"), "seeds") {
		t.Error("a run with uniform batches has a new field")
	}
	succeed(t, append(small, "--seeds", "loss", "--seeds-every", "5", "--runs", "2", "--out", "two", "--resume")...)
	succeed(t, append(small, "--seeds", "loss", "--seeds-every", "5", "--runs", "2", "--out", "two", "--resume")...)
	fail(t, exitFailed, []string{"seeds"}, append(small, "--seeds", "gradient", "--seeds-every", "5", "--runs", "2", "--out", "two", "--resume")...)
	for words, args := range map[string][]string{
		"--seeds \"losss\"":              {"--seeds", "losss"},
		"--seeds-every is for":           {"--seeds-every", "5"},
		"--seeds-every 0: want at least": {"--seeds", "loss", "--seeds-every", "0"},
		"one mini-batch of an epoch":     {"--seeds", "loss", "--batches-per-epoch", "0"},
	} {
		fail(t, exitUsage, []string{words}, append([]string{"train"}, args...)...)
	}
	fail(t, exitFailed, []string{"the sampler draws output nodes of its own"}, append(small, "--seeds", "loss", "--method", "saint-node", "--out", "saint")...)
	if _, err := os.Stat("saint/config.json"); err == nil {
		t.Error("a run that cannot start left a folder")
	}
}
