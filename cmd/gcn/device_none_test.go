//go:build !cuda

package main

import (
	"strings"
	"testing"
)

func TestDeviceNotBuiltIn(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"train"}, {"bench", "train"}, {"bench", "infer"}, {"tune", "--search", "lr=1,2"}} {
		fail(t, exitUsage, []string{"--device cuda", "without CUDA", "go build -modfile go.cuda.mod -tags cuda ./cmd/gcn", "--device cpu"}, append(args, "--device", "cuda")...)
	}
	succeed(t, trainArgs("--out", "run")...)
	for _, args := range [][]string{{"eval"}, {"predict", "--out", "scores.npy"}} {
		fail(t, exitUsage, []string{"--device cuda", "without CUDA", "--device cpu"}, append(args, "--run", "run", "--device", "cuda")...)
	}
	if out := succeed(t, "version"); !strings.Contains(out.stdout, "not built in") {
		t.Errorf("version says nothing about CUDA: %s", out.stdout)
	}
}
