package main

import (
	"os"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestSeeds checks the flag --seeds: its config.json gives the same run again, and wrong
// combinations are errors.
func TestSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	small := []string{"train", "--data", "synth:demo?nodes=1000&edges=5000", "--batch", "64", "--max-batches", "30", "--hidden", "16", "-q"}
	writeFile(t, "every.json", []byte(`{"seeds_every": 5}`))
	succeed(t, append(small, "--seeds", "gradient", "--config", "every.json", "--out", "a")...)
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
	succeed(t, append(small, "--seeds", "loss", "--config", "every.json", "--runs", "2", "--out", "two", "--resume")...)
	succeed(t, append(small, "--seeds", "loss", "--config", "every.json", "--runs", "2", "--out", "two", "--resume")...)
	fail(t, exitFailed, []string{"seeds"}, append(small, "--seeds", "gradient", "--config", "every.json", "--runs", "2", "--out", "two", "--resume")...)
	for words, args := range map[string][]string{
		"--seeds losss":              {"--seeds", "losss"},
		"one mini-batch of an epoch": {"--seeds", "loss", "--batches-per-epoch", "0"},
	} {
		fail(t, exitUsage, []string{words}, append([]string{"train"}, args...)...)
	}
	for _, m := range samplers.Methods() { // by its field, and by its sampler
		args := append(small, "--seeds", "loss", "--config", "every.json", "--max-batches", "2", "--method", m.Name, "--out", "all/"+m.Name)
		if m.OwnOutputs() {
			fail(t, exitUsage, []string{"--seeds loss", m.Name, "output nodes of its own"}, args...)
		} else if out := gcn(t, args...); strings.Contains(out.stderr, "output nodes of its own") {
			t.Errorf("%s: refused only in training: %s", m.Name, out.stderr)
		}
	}
	fail(t, exitUsage, []string{"output nodes of its own"}, append(small, "--seeds", "loss", "--method", "saint-node", "--out", "saint")...)
	if _, err := os.Stat("saint/config.json"); err == nil {
		t.Error("a run that cannot start left a folder")
	}
}
