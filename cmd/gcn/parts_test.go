package main

import (
	"testing"

	"github.com/gcn-layerwise/gcn/samplers"
)

// TestHiddenResidualOfMethods trains with a residual from each convolution's own input: every
// method goes with it, or refuses it before anything is read.
func TestHiddenResidualOfMethods(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, method := range samplers.Methods() {
		flags := []string{"train", "--data", smallData, "--method", method.Name, "--hidden", "8", "--hidden-residual", "linear", "--batch", "32", "--max-batches", "2", "-q", "--out", method.Name}
		if method.Sizes == "nodes a layer" {
			flags = append(flags, "--samples", "32")
		}
		if method.Learned {
			fail(t, exitUsage, []string{"--hidden-residual linear"}, flags...)
			continue
		}
		succeed(t, flags...)
	}
}
