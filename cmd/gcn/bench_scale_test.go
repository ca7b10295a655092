package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The stores are made once, and used again. The files of --out are there.
func TestBenchScale(t *testing.T) {
	dir := t.TempDir()
	stores, out := filepath.Join(dir, "stores"), filepath.Join(dir, "out")
	args := []string{"bench", "scale", "--stores", stores, "--sizes", "3000,12000", "--samples", "32,32", "--batch", "64", "--batches", "3", "--hidden", "16", "--eval-limit", "5000"}
	first := object(t, succeed(t, append(args, "--out", out, "--json")...))
	rows := first["rows"].([]any)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for k, r := range rows {
		row := r.(map[string]any)
		for _, key := range []string{"make_s", "open_ms", "laplacian_ms", "sampling_ms", "step_ms", "pipelined_ms", "first_ms", "own_mb", "inputs", "entries", "store_mb"} {
			if v, ok := row[key].(float64); !ok || !(v > 0) {
				t.Errorf("row %d: %s is %v", k, key, row[key])
			}
		}
		if _, evaluated := row["eval_ms"]; evaluated != (k == 0) {
			t.Errorf("row %d: evaluation %v", k, row["eval_ms"])
		}
	}
	if rows[0].(map[string]any)["nodes"] != 3000.0 || rows[1].(map[string]any)["nodes"] != 12000.0 {
		t.Errorf("rows %v", rows)
	}
	for _, name := range []string{"scale.json", "scale.svg", "scale.png"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, err := os.ReadDir(stores)
	if err != nil || len(made) != 2 {
		t.Fatalf("stores %v, %v", made, err)
	}
	before, err := made[0].Info()
	if err != nil {
		t.Fatal(err)
	}
	// A store is one more graph: with --sizes as before, three rows.
	again := object(t, succeed(t, append(args, "store:"+filepath.Join(stores, made[0].Name())+"?split=20/20/60", "--json")...))
	rows = again["rows"].([]any)
	if len(rows) != 3 || rows[0].(map[string]any)["make_s"] != nil {
		t.Errorf("%d rows, the first %v", len(rows), rows[0])
	}
	if after, err := os.Stat(filepath.Join(stores, made[0].Name())); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the store was made again: %v", err)
	}
	table := succeed(t, args...).stdout
	if !strings.Contains(table, "pipelined ms") {
		t.Errorf("table:\n%s", table)
	}
	fail(t, exitUsage, []string{"--data"}, "bench", "scale", "--data", "cora")
	fail(t, exitUsage, []string{"--data"}, "bench", "scale", "--data", "synth:demo?nodes=5")
	fail(t, exitUsage, []string{"--sizes"}, "bench", "scale", "--sizes", "0")
}

// A place that cannot be written to, and a graph that is missing, are errors before the first
// graph is made.
func TestBenchScaleChecksFirst(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for k, more := range [][]string{{"--out", file}, {"store:" + filepath.Join(dir, "none")}, {"--cold", "synth:demo"}} {
		stores := filepath.Join(dir, fmt.Sprint("stores", k))
		args := append([]string{"bench", "scale", "--stores", stores, "--data", "synth:demo", "--sizes", "300", "--batches", "2"}, more...)
		if out := gcn(t, args...); out.code == exitDone {
			t.Errorf("%v: no error", more)
		}
		if made, _ := os.ReadDir(stores); len(made) > 0 {
			t.Errorf("%v: an error after %s was made", more, made[0].Name())
		}
	}
}

// A benchmark has no --seeds, which --label-inputs excludes.
func TestBenchLabelInputs(t *testing.T) {
	succeed(t, "bench", "scale", "--data", "synth:demo", "--sizes", "300", "--batches", "2", "--hidden", "8", "--input-layer", "--label-inputs", "0.5")
}
