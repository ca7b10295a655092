package main

import "testing"

// A benchmark has no --seeds, which --label-inputs excludes.
func TestBenchLabelInputs(t *testing.T) {
	succeed(t, "bench", "train", "--data", "synth:demo?nodes=300&edges=1200", "--batches", "41", "--batch", "32", "--hidden", "8", "--input-layer", "--label-inputs", "0.5")
}

func TestBenchWorkers(t *testing.T) {
	fail(t, exitUsage, []string{"--workers"}, "bench", "train", "--workers", "-1")
}
