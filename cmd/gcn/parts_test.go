package main

import (
	"bytes"
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestOwnRowsOfMethods trains with parts that read a node's own row of each convolution's
// input: every method goes with them, or refuses them before anything is read.
func TestOwnRowsOfMethods(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, method := range samplers.Methods() {
		flags := []string{"train", "--data", smallData, "--method", method.Name, "--hidden", "8", "--hidden-residual", "linear", "--batch", "32", "--max-batches", "2", "-q", "--out", method.Name}
		if method.Sizes == "nodes a layer" {
			flags = append(flags, "--samples", "32")
		}
		if method.Learned() {
			fail(t, exitUsage, []string{"--hidden-residual linear"}, flags...)
			continue
		}
		succeed(t, flags...)
	}
}

// TestPartsWithoutEffect combines options so that one has no effect. The runs are resumed.
func TestPartsWithoutEffect(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("-q", "--max-batches", "2", "--out", "run", "--pre-norm", "--layer-norm")...)
	config := bytes.Replace(readFile(t, "run/config.json"), []byte(`"layer_norm": true`), []byte(`"layer_norm": false`), 1)
	writeFile(t, "run/config.json", config)
	fail(t, exitFailed, []string{"cannot resume", "layer_norm"}, "train", "--out", "run", "--resume", "--max-batches", "3")
	succeed(t, "tune", "--data", smallData, "--hidden", "8", "--batch", "32", "--samples", "32", "--max-batches", "6", "--eval-every", "1", "--search", "pre-norm=true", "--search", "layer-norm=true,false", "--out", "search", "-q")
}
