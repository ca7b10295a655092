package main

import (
	"bytes"
	"strings"
	"testing"
)

// A run of a sampler that learns is resumed from its folder to the same bits, and options that
// do not go with it are refused.
func TestAdaptiveSampler(t *testing.T) {
	t.Chdir(t.TempDir())
	line := trainArgs("-q", "--method", "as-gcn", "--samples", "48", "--max-batches")
	whole := object(t, succeed(t, append(line, "30", "--out", "whole", "--json", "--workers", "3")...))
	if !(whole["state_bytes"].(float64) > 0) || whole["method"] != "as-gcn" {
		t.Errorf("result: %v", whole)
	}
	succeed(t, append(line, "13", "--out", "parts")...)
	succeed(t, "train", "--out", "parts", "--resume", "-q", "--max-batches", "30")
	if !bytes.Equal(weightsOf(t, "whole"), weightsOf(t, "parts")) {
		t.Error("a run that was stopped has other weights")
	}
	if e := object(t, succeed(t, "eval", "--run", "whole", "--json")); e["score"] != whole["test"] {
		t.Errorf("eval gives %v, training gave %v", e["score"], whole["test"])
	}
	for options, want := range map[string]string{"--conv gat": "--conv gat", "--micro 2": "each mini-batch"} {
		fail(t, exitUsage, []string{"--method as-gcn", want}, append([]string{"train", "--data", smallData, "--method", "as-gcn"}, strings.Fields(options)...)...)
	}
}
