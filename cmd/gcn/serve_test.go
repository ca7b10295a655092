package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/serve"
)

// TestServe changes the graph of a run, and converts the changed data.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "train", "--data", "synth:demo?nodes=300&edges=900&features=2&classes=3", "--method", "full", "--max-batches", "3", "--quiet", "--out", "run")
	if out := gcn(t, "serve"); out.code != 2 || !strings.Contains(out.stderr, "--run") {
		t.Errorf("no run: %+v", out)
	}
	if out := gcn(t, "serve", "--run", "nowhere"); out.code != 1 || !strings.Contains(out.stderr, "nowhere") {
		t.Errorf("no folder: %+v", out)
	}
	if out := gcn(t, "serve", "--run", "run", "--listen", "localhost:99999"); out.code != 1 || !strings.Contains(out.stderr, "99999") {
		t.Errorf("no address: %+v", out)
	}
	opened, err := run.Open(context.Background(), "run", run.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(opened.Model, opened.Data, serve.Options{Log: filepath.Join("run", serve.LogFile)})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	server.Handler().ServeHTTP(answer, httptest.NewRequest("POST", "/changes",
		strings.NewReader(`{"add_nodes": [{"features": [1, 2]}], "add_edges": [[300, 7]], "remove_nodes": [5]}`)))
	if answer.Code != 200 {
		t.Fatal(answer.Body)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	succeed(t, "datasets", "convert", "serve:run", "changed.safetensors")
	if out := succeed(t, "datasets", "info", "store:changed.safetensors"); !strings.Contains(out.stdout, "1 nodes added, 1 removed") {
		t.Error(out.stdout)
	}
}
