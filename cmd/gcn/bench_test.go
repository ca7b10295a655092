package main

import "testing"

func TestBenchWorkers(t *testing.T) {
	fail(t, exitUsage, []string{"--workers"}, "bench", "train", "--workers", "-1")
}
