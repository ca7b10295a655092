package main

import (
	"fmt"
	"slices"
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
		if method.Learned {
			fail(t, exitUsage, []string{own[0] + " " + own[1]}, flags...)
			continue
		}
		succeed(t, flags...)
	}
}
