//go:build cuda

package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"gorgonia.org/cu"
)

func TestDeviceMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	if cu.Available() == nil {
		t.Skip("there is a device")
	}
	fail(t, exitFailed, []string{"--device cuda", "no CUDA device", "--device cpu"}, "train", "--device", "cuda")
	succeed(t, trainArgs("--out", "cpu")...)
	fail(t, exitFailed, []string{"--device cuda", "no CUDA device", "--device cpu"}, "eval", "--run", "cpu", "--device", "cuda")
	if out := succeed(t, "version"); !strings.Contains(out.stdout, "built in; ") {
		t.Errorf("version does not name the missing library: %s", out.stdout)
	}
}

func TestDevice(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := cu.Available(); err != nil {
		t.Skipf("no device: %v", err)
	}
	onCPU := object(t, succeed(t, trainArgs("--out", "cpu", "--json")...))
	m := object(t, succeed(t, trainArgs("--out", "a", "--json", "--device", "cuda")...))
	wantFields(t, m, resultFields...)
	if m["device"] != "cuda" || math.Abs(m["test"].(float64)-onCPU["test"].(float64)) > 0.05 {
		t.Errorf("on the device: %v; on the CPU: %v", m, onCPU)
	}
	succeed(t, trainArgs("--out", "b", "--device", "cuda", "--workers", "3")...)
	if !bytes.Equal(weightsOf(t, "a"), weightsOf(t, "b")) {
		t.Error("two runs on the device give different weights")
	}
	if score := object(t, succeed(t, "eval", "--run", "a", "--json")); score["device"] != "cpu" || math.Abs(score["score"].(float64)-m["test"].(float64)) > 0.01 {
		t.Errorf("eval of a run on the device gives %v, its test was %v", score, m["test"])
	}
	score := object(t, succeed(t, "eval", "--run", "a", "--device", "cuda", "--json"))
	if score["device"] != "cuda" || math.Abs(score["score"].(float64)-m["test"].(float64)) > 1e-9 {
		t.Errorf("eval on the device gives %v, the run's test was %v", score, m["test"])
	}
	written := object(t, succeed(t, "predict", "--run", "cpu", "--device", "cuda", "--out", "scores.npy", "--json"))
	if written["device"] != "cuda" || written["nodes"].(float64) < 1 {
		t.Errorf("predict says %v", written)
	}
	histories := object(t, succeed(t, trainArgs("--out", "h", "--json", "--device", "cuda", "--method", "vrgcn", "--samples", "2")...))
	onCPU = object(t, succeed(t, trainArgs("--out", "h-cpu", "--json", "--method", "vrgcn", "--samples", "2")...))
	if math.Abs(histories["test"].(float64)-onCPU["test"].(float64)) > 0.05 {
		t.Errorf("vrgcn on the device: %v; on the CPU: %v", histories, onCPU)
	}
	half := []string{"--method", "ladies-cv?half=1", "--samples", "48"}
	fail(t, exitUsage, []string{"half=1 is for the CPU"}, trainArgs(append(half, "--out", "half", "--device", "cuda")...)...)
	fail(t, exitUsage, []string{"half=1 is for the CPU"}, append([]string{"bench", "train", "--data", smallData, "--device", "cuda"}, half...)...)
	succeed(t, trainArgs(append(half, "--out", "half")...)...)
	succeed(t, "eval", "--run", "half", "--device", "cuda")
	bench := object(t, succeed(t, "bench", "train", "--data", smallData, "--batch", "64", "--samples", "64,64", "--hidden", "16", "--batches", "60", "--device", "cuda", "--json"))
	wantFields(t, bench, "ms_median", "device_bytes", "device")
	if bench["blas"] != "cuBLAS" {
		t.Errorf("bench train says %v", bench)
	}
	object(t, succeed(t, "bench", "infer", "--data", smallData, "--hidden", "16", "--repetitions", "2", "--device", "cuda", "--json"))
	if out := succeed(t, "version"); !strings.Contains(out.stdout, "driver for CUDA") || !strings.Contains(out.stdout, "libcublas.so") {
		t.Errorf("version does not name the device: %s", out.stdout)
	}
}

// TestTuneDevice searches on a device: one training after the other, with one open device.
func TestTuneDevice(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := cu.Available(); err != nil {
		t.Skipf("no device: %v", err)
	}
	m := object(t, succeed(t, searchArgs("--runs", "1", "--device", "cuda", "--out", "s", "--json")...))
	onCPU := object(t, succeed(t, searchArgs("--runs", "1", "--out", "cpu", "--json")...))
	if m["device"] != "cuda" || math.Abs(m["best_valid"].(float64)-onCPU["best_valid"].(float64)) > 0.05 {
		t.Errorf("on the device %v, on the CPU %v", m, onCPU)
	}
	fail(t, exitFailed, []string{"cannot resume", `device was "cuda"`, `now "cpu"`}, searchArgs("--runs", "1", "--out", "s", "--resume", "--device", "cpu")...)
}
