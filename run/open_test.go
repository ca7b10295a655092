package run

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/rundir"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

// Open gives the model that was trained, for all options that change its scores.
func TestOpen(t *testing.T) {
	const spec = "synth:demo?nodes=300&edges=1200&features=6"
	ctx := context.Background()
	data, err := datasets.Open(ctx, spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		config  string // in addition to the fields below
		options layers.GCNOptions
	}{
		{`{}`, layers.GCNOptions{}},
		{`{"bias_after": true}`, layers.GCNOptions{BiasAfter: true}},
		{`{"input_layer": true}`, layers.GCNOptions{InputLayer: true}},
		{`{"hidden-residual": "identity"}`, layers.GCNOptions{HiddenResidual: layers.ResidualIdentity}},
		{`{"hidden-residual": "linear", "layer_norm": true}`, layers.GCNOptions{HiddenResidual: layers.ResidualLinear, Norm: layers.NormLayer}},
		{`{"activation": "gelu", "input_layer": true, "layer_norm": true, "pre_norm": true, "feed_forward": true}`,
			layers.GCNOptions{Activation: ops.ActivationGELU, InputLayer: true, Norm: layers.NormLayer, PreNorm: true, FeedForward: true}},
		{`{"input_layer": true, "own_state": true, "batch_norm": true}`,
			layers.GCNOptions{InputLayer: true, OwnState: true, Norm: layers.NormBatch}},
		{`{"activation": "relu", "residual": true}`, layers.GCNOptions{Activation: ops.ActivationReLU, Residual: true}},
		{`{"model": "equation", "bias_after": true}`, layers.GCNOptions{Form: layers.FormEquation, BiasAfter: true}},
		{`{"conv": "gat", "heads": 4}`, layers.GCNOptions{Heads: 4}},
		{`{"conv": "gat", "heads": 2, "model": "equation", "output_heads": 3}`, layers.GCNOptions{Heads: 2, OutputHeads: 3, Form: layers.FormEquation}},
	} {
		c.options.Hidden = 8
		batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: data.Laplacian(), Depth: 2})
		trained, err := layers.NewGCN(batch, data.Features, data.Labels, c.options)
		if err != nil {
			t.Fatal(c.config, err)
		}
		config := map[string]any{"data": spec, "layers": 2, "hidden": 8}
		if err := json.Unmarshal([]byte(c.config), &config); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := train.Fit(ctx, trained, data, train.Options{Dir: dir, Config: config, MaxBatches: 10, Batch: 50}); err != nil {
			t.Fatal(c.config, err)
		}
		nodes := []int32{7, 8, 7}
		want, err := train.Predict(ctx, trained, data, nodes)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := Open(ctx, dir, OpenOptions{})
		if err != nil {
			t.Fatal(c.config, err)
		}
		if got, err := train.Predict(ctx, opened.Model, data, nodes); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: scores %v, %v, want %v", c.config, got, err, want)
		}
	}
}

// writeSchema writes the schema of data into the folder of a run.
func writeSchema(t *testing.T, dir string, d *datasets.Data) {
	t.Helper()
	text, err := json.Marshal(d.Schema())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "schema.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A run of a model that Open cannot build is refused.
func TestOpenUnknown(t *testing.T) {
	const spec = "synth:demo?nodes=100&edges=300"
	data, err := datasets.Open(context.Background(), spec, datasets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string]string{
		`{"layers": 2, "conv": "gin"}`:                    "--conv gin",
		`{"layers": 2, "conv": "gat"}`:                    "ckpt",
		`{"layers": 2, "model": "other"}`:                 "--model other",
		`{"layers": 2, "activation": "tanh"}`:             "--activation tanh",
		`{"layers": 2, "hidden-residual": "highway"}`:     "--hidden-residual highway",
		`{"layers": 2, "hidden-residual": true}`:          "hidden-residual",
		`{"layers": 0}`:                                   "--layers 0",
		`{"layers": 2, "hidden": 8}`:                      "ckpt",
		`{"layers": 2, "conv": "gat", "heads": 7}`:        "7",
		`{"layers": 2, "hidden": -1, "model": "program"}`: "-1",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), withSchema(config), 0o600); err != nil {
			t.Fatal(err)
		}
		writeSchema(t, dir, data)
		if _, err := Open(t.Context(), dir, OpenOptions{Data: spec}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want an error about %s", config, err, want)
		}
	}
	if _, err := Open(t.Context(), t.TempDir(), OpenOptions{Data: spec}); err == nil {
		t.Error("an empty folder opened")
	}
}

// withSchema adds this program's schema to a configuration with fields.
func withSchema(config string) []byte {
	return fmt.Appendf(nil, `{"schema": %d, "fingerprint": "", %s`, rundir.Schema, config[1:])
}

// A run whose config.json does not name its data is an error that says so.
func TestOpenRunWithoutData(t *testing.T) {
	dir := t.TempDir()
	for _, config := range []string{`{"layers": 2}`} {
		if err := os.WriteFile(filepath.Join(dir, "config.json"), withSchema(config), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir, OpenOptions{}); err == nil || !strings.Contains(err.Error(), "data") {
			t.Errorf("%s: %v", config, err)
		}
	}
}
