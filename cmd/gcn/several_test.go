package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/rundir"
)

// tree returns the contents of all files below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files[path] = string(readFile(t, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantTree(t *testing.T, dir string, want map[string]string, after string) {
	t.Helper()
	got := tree(t, dir)
	for path, text := range want {
		if got[path] != text {
			t.Errorf("%s: %s has changed", after, path)
		}
		delete(got, path)
	}
	for path := range got {
		if filepath.Base(path) != ".lock" {
			t.Errorf("%s: there is a new %s", after, path)
		}
	}
}

// TestRefusedRuns gives command lines that must be refused for a folder of
// several runs. They must leave the folder unchanged; the right command then goes
// on.
func TestRefusedRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	line := trainArgs("--runs", "2", "--out", "r", "-q", "--method", "ladies-flat-debiased")
	succeed(t, append(line, "--max-batches", "10")...)
	before := tree(t, "r")
	refuse := func(code int, words string, args ...string) {
		t.Helper()
		fail(t, code, strings.Split(words, ","), args...)
		wantTree(t, "r", before, strings.Join(args, " "))
	}
	refuse(exitFailed, "r,--resume", line...)
	if err := os.CopyFS("half", fstest.MapFS{"result.json": {Data: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	fail(t, exitFailed, []string{"half holds a run already"}, trainArgs("--runs", "2", "--out", "half", "-q")...)
	for _, change := range []string{"--hidden 32", "--lr 0.5", "--weight-decay 0.1", "--batch 63", "--method ladies", "--data synth:demo?nodes=601&edges=3000"} {
		words := filepath.Join("r", "seed-1", "last.ckpt") + ": cannot resume"
		refuse(exitFailed, words, append([]string{"train", "--out", "r", "-q", "--resume"}, strings.Fields(change)...)...)
	}
	refuse(exitFailed, "r holds several runs", "train", "--out", "r", "-q", "--resume", "--runs", "1")
	refuse(exitFailed, "r holds several runs", trainArgs("--out", "r", "-q", "--overwrite")...)
	refuse(exitFailed, "r holds several runs", trainArgs("--out", "r", "-q", "--overwrite", "--seed", "9")...)
	refuse(exitUsage, "--samples", "train", "--out", "r", "--resume", "--layers", "3")
	if memory.Check("", 1<<50) != nil {
		refuse(exitFailed, "would take", append(line, "--overwrite", "--hidden", "40000", "--layers", "1000", "--samples", "64")...)
		fail(t, exitFailed, []string{"would take"}, trainArgs("--runs", "2", "--out", "new", "--hidden", "40000", "--layers", "1000", "--samples", "64")...)
		succeed(t, trainArgs("--runs", "2", "--out", "new", "--max-batches", "2", "-q")...)
	}
	if folder, err := rundir.Open("r/seed-2"); err != nil {
		t.Fatal(err)
	} else {
		refuse(exitFailed, "r/seed-2,another process", append(line, "--overwrite", "--hidden", "8")...)
		folder.Close()
	}
	if folder, err := rundir.Open("r"); err != nil {
		t.Fatal(err)
	} else {
		refuse(exitFailed, "r,another process", append(line, "--overwrite", "--hidden", "8")...)
		refuse(exitFailed, "r,another process", append(line, "--resume", "--max-batches", "20")...)
		folder.Close()
	}
	succeed(t, "train", "--out", "r", "--resume", "-q")
	m := object(t, succeed(t, "train", "--out", "r", "--resume", "-q", "--json", "--max-batches", "20", "--runs", "3"))
	if len(m["runs"].([]any)) != 3 || m["batches"] != 60.0 {
		t.Errorf("more batches and runs give %v", m)
	}
}

// TestOverwriteInterrupted interrupts runs that replace others. The command in
// the message must resume the new runs.
func TestOverwriteInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, trainArgs("--runs", "3", "--out", "r", "-q", "--max-batches", "10")...)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan output, 1)
	go func() {
		ended <- gcnContext(ctx, trainArgs("--runs", "2", "--out", "r", "-q", "--overwrite", "--hidden", "8", "--max-batches", "0", "--epochs", "10000000", "--patience", "0")...)
	}()
	for !strings.Contains(string(readFile(t, "r/config.json")), `"hidden": 8`) && len(ended) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	out := <-ended
	message := lastLine(out.stderr)
	if out.code != exitInterrupted || !strings.HasSuffix(message, "to go on: gcn train --out r --resume") {
		t.Fatalf("exit code %d: %s", out.code, message)
	}
	m := object(t, succeed(t, "train", "--out", "r", "--resume", "--epochs", "1", "-q", "--json"))
	if runs := m["runs"].([]any); len(runs) != 2 || m["parameters"] != runs[1].(map[string]any)["parameters"] {
		t.Errorf("gone on with: %v", m)
	}
}

// TestOverwriteKeepsOthers overwrites several runs beside a folder whose name begins as theirs.
func TestOverwriteKeepsOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	line := trainArgs("--runs", "2", "--out", "r", "-q", "--max-batches", "2")
	succeed(t, line...)
	if err := os.CopyFS("r/seed-2-old", os.DirFS("r/seed-2")); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, "r/seed-2-old/best.ckpt")
	succeed(t, append(line, "--overwrite", "--hidden", "8")...)
	if !bytes.Equal(readFile(t, "r/seed-2-old/best.ckpt"), before) {
		t.Error("the copy of a run is another")
	}
}

// TestMovedRuns moves the folder of several runs while they train. They fail, write nothing at
// the old path, and go on at the new one.
func TestMovedRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be moved there")
	}
	t.Chdir(t.TempDir())
	ended := make(chan output, 1)
	go func() {
		ended <- gcnContext(t.Context(), trainArgs("--runs", "2", "--out", "r", "-q", "--max-batches", "500", "--patience", "0", "--config", checkpoints(t, 0))...)
	}()
	for len(ended) == 0 {
		if _, err := os.Stat("r/seed-1/last.ckpt"); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := os.Rename("r", "s"); err != nil {
		t.Fatal(err)
	}
	if out := <-ended; out.code != exitFailed || !strings.Contains(lastLine(out.stderr), "moved") {
		t.Errorf("exit code %d: %s", out.code, out.stderr)
	}
	if _, err := os.Stat("r"); err == nil {
		t.Error("the old place was written to")
	}
	if m := object(t, succeed(t, "train", "--out", "s", "--resume", "-q", "--json")); m["batches"] != 1000.0 {
		t.Errorf("gone on with: %v", m)
	}
}
