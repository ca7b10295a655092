package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// TestServer trains a little, and asks the server of the run.
func TestServer(t *testing.T) {
	ctx, spec := context.Background(), "synth:demo?nodes=300&edges=900&features=2&classes=3"
	data, err := datasets.Open(ctx, spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
	model, err := layers.NewGCN(batch, data.Features, data.Labels, layers.GCNOptions{Hidden: 8})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	config := map[string]any{"data": spec, "layers": 2, "hidden": 8, "activation": "elu", "model": "program"}
	if _, err := train.Fit(ctx, model, data, train.Options{Dir: dir, Config: config, MaxBatches: 3, Batch: 50}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- listen(serving, dir, listener) }()
	for path, want := range map[string]string{"/nodes/7": `{"node":"7","class":"`, "/version": "0\n", "/healthz": "ok\n"} {
		response, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: status %d, %q, %v", path, response.StatusCode, text, err)
		}
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := listen(ctx, t.TempDir(), listener); err == nil {
		t.Error("an empty folder is served")
	}
}
