//go:build linux || darwin || freebsd

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gcnInTime runs one command line. It fails the test if the command does not end.
func gcnInTime(ctx context.Context, t *testing.T, args ...string) output {
	t.Helper()
	ended := make(chan output, 1)
	go func() { ended <- gcnContext(ctx, args...) }()
	select {
	case out := <-ended:
		return out
	case <-time.After(time.Minute):
		t.Fatalf("gcn %s does not end", strings.Join(args, " "))
	}
	return output{}
}

// TestPipesInPlaceOfFiles puts named pipes without another side in the place of files.
func TestPipesInPlaceOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GCN_DATA", t.TempDir())
	if err := errors.Join(os.MkdirAll("dir/raw", 0o755), os.MkdirAll("dir/split/t", 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"fifo", "fifo.npy", "dir/indptr.npy", "dir/adj_full.npz", "dir/reddit_data.npz", "dir/reddit_graph.npz", "dir/ind.p.test.index", "dir/s-G.json",
		"dir/raw/num-node-list.csv.gz", "dir/raw/edge.csv.gz", "dir/raw/node-label.csv.gz", "dir/raw/node-feat.csv.gz",
		"dir/split/t/train.csv.gz", "dir/split/t/valid.csv.gz", "dir/split/t/test.csv.gz",
	} {
		if err := syscall.Mkfifo(name, 0o644); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Symlink("fifo", "link"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "edges.csv", []byte("0,1\n1,2\n"))
	writeFile(t, "labels.csv", []byte("a\nb\na\n"))
	succeed(t, append([]string{"train", "-q", "--out", "run"}, quick...)...)
	for _, args := range [][]string{
		{"datasets", "info", "npy:dir"},
		{"datasets", "info", "npz:fifo"},
		{"datasets", "info", "store:fifo"},
		{"datasets", "info", "store:link"},
		{"datasets", "verify", "store:fifo"},
		{"datasets", "info", "edges:fifo?labels=labels.csv"},
		{"datasets", "info", "edges:edges.csv?labels=fifo"},
		{"datasets", "info", "edges:edges.csv?labels=labels.csv&features=fifo"},
		{"datasets", "info", "ogb:dir"},
		{"datasets", "info", "planetoid:dir/p"},
		{"datasets", "info", "saint:dir"},
		{"datasets", "info", "sage:dir/s"},
		{"datasets", "info", "dgl-reddit:dir"},
		{"train", "--out", "none", "--data", "edges:fifo?labels=labels.csv"},
		{"predict", "--run", "run", "--nodes", "fifo.npy", "--out", "scores.npy"},
	} {
		out := gcnInTime(t.Context(), t, args...)
		if line := lastLine(out.stderr); out.code != exitFailed || !strings.Contains(line, ": not a regular file") {
			t.Errorf("gcn %s: exit code %d: %s", strings.Join(args, " "), out.code, out.stderr)
		}
	}
	out := gcnInTime(t.Context(), t, "predict", "--run", "run", "--out", "fifo.npy")
	if out.code != exitFailed || !strings.Contains(out.stderr, "fifo.npy: a pipe that no process reads") {
		t.Errorf("a pipe without a reader: exit code %d: %s", out.code, out.stderr)
	}
}

// TestNodesFromPipe reads the nodes to score from a pipe.
func TestNodesFromPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, append([]string{"train", "-q", "--out", "run"}, quick...)...)
	if err := syscall.Mkfifo("written", 0o644); err != nil {
		t.Skip(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile("written", []byte("# two nodes\n1\n2\n"), 0) }()
	out := gcnInTime(t.Context(), t, "predict", "--run", "run", "--nodes", "written", "--out", "scores.csv", "--json")
	if err := <-written; err != nil || out.code != exitDone || object(t, out)["nodes"] != 2.0 {
		t.Errorf("%v, %+v", err, out)
	}
}

// TestScoresIntoPipe writes scores into a pipe that somebody reads, more than the pipe
// holds.
func TestScoresIntoPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, append([]string{"train", "-q", "--out", "run"}, quick...)...)
	succeed(t, "predict", "--run", "run", "--out", "file.csv")
	if err := syscall.Mkfifo("pipe.csv", 0o644); err != nil {
		t.Skip(err)
	}
	reader, err := os.OpenFile("pipe.csv", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	type text struct {
		text []byte
		err  error
	}
	read := make(chan text, 1)
	holder, err := os.OpenFile("pipe.csv", os.O_WRONLY, 0) // without a writer the reader is at its end
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		all, err := io.ReadAll(reader)
		read <- text{all, errors.Join(err, reader.Close())}
	}()
	out := gcnInTime(t.Context(), t, "predict", "--run", "run", "--out", "pipe.csv")
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	got := <-read
	if out.code != exitDone || got.err != nil || string(got.text) != string(readFile(t, "file.csv")) {
		t.Errorf("exit code %d: %s; %d bytes read, %v", out.code, out.stderr, len(got.text), got.err)
	}
}
