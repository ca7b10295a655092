package train

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/weights"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// recorded reads an array of testdata/torch/recorded.npz, which record.py writes.
func recorded(t *testing.T, key string) ([]float32, []int) {
	t.Helper()
	archive, err := npy.OpenArchive("testdata/torch/recorded.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	r, err := archive.Open(key)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	shape := r.Shape
	values, err := r.Float32s(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return values, shape
}

// TestImportTorch compares the logits of imported models with those that PyTorch recorded.
func TestImportTorch(t *testing.T) {
	edges, _ := recorded(t, "edges")
	values, shape := recorded(t, "features")
	x := &graph.Features{Rows: shape[0], Cols: shape[1], Data: values}
	b, err := graph.NewBuilder(x.Rows)
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; k < len(edges); k += 2 {
		if err := b.Add(int32(edges[k]), int32(edges[k+1])); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	y := &graph.Labels{Classes: 3, Class: make([]int32, x.Rows)}
	for name, c := range map[string]struct {
		p      *graph.Laplacian
		form   layers.Form
		square Square
	}{
		"gcn":        {graph.NewLaplacian(a), layers.FormEquation, SquareRefused},
		"classifier": {graph.NewLaplacian(a), layers.FormProgram, SquareRefused},
		"sage":       {graph.NewRowLaplacian(a), layers.FormEquation, SquareInputsFirst}, // the names tell
	} {
		batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: c.p, Depth: 2})
		m, err := layers.NewGCN(batch, x, y, layers.GCNOptions{Form: c.form, Hidden: 4, Activation: ops.ActivationReLU, BiasAfter: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := ImportParameters(context.Background(), filepath.Join("testdata/torch", name+".pt"), m, c.square); err != nil {
			t.Fatal(err)
		}
		want, _ := recorded(t, name)
		got, err := m.Infer(context.Background(), c.p, x, nil)
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for k := range want {
			worst = max(worst, math.Abs(float64(got[k]-want[k])))
		}
		t.Logf("%s: the largest difference is %.1e", name, worst)
		if worst > 1e-5 || len(got) != len(want) {
			t.Errorf("%s: logits differ by %v", name, worst)
		}
		// Out and in again, in both formats.
		for _, extension := range []string{".safetensors", ".npz"} {
			path := filepath.Join(t.TempDir(), name+extension)
			if err := ExportParameters(path, m); err != nil {
				t.Fatal(err)
			}
			before := weightsOf(t, m.Parts())
			for _, p := range m.Parameters {
				clear(p.Value().Data().([]float32))
			}
			if err := ImportParameters(context.Background(), path, m, SquareRefused); err != nil || !slices.Equal(weightsOf(t, m.Parts()), before) {
				t.Errorf("%s: other parameters come back, or %v", path, err)
			}
		}
	}
}

// TestImportErrors checks that a file of another model is refused with a message, and that
// the model stays as it is.
func TestImportErrors(t *testing.T) {
	d := smallData(t, 300, 4)
	batch := layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: d.Laplacian(), Depth: 1})
	m, err := layers.NewGCN(batch, d.Features, d.Labels, layers.GCNOptions{Hidden: 4, BiasAfter: true})
	if err != nil {
		t.Fatal(err)
	}
	f, c := d.Features.Cols, d.Labels.Classes
	tensor := func(name string, shape ...int) weights.Tensor {
		n := 1
		for _, k := range shape {
			n *= k
		}
		return weights.Tensor{Name: name, Shape: shape, Values: make([]float32, n)}
	}
	good := []weights.Tensor{tensor("a.bias", 4), tensor("a.lin.weight", 4, f), tensor("out.weight", c, 4), tensor("out.bias", c)}
	nan := tensor("out.bias", c)
	nan.Values[1] = float32(math.NaN())
	path := filepath.Join(t.TempDir(), "w.npz")
	before := weightsOf(t, m.Parts())
	for want, tensors := range map[string][]weights.Tensor{
		"is square":           good, // 4 classes, 4 hidden
		"not finite":          {good[0], good[1], good[2], nan},
		"has shape":           {good[0], tensor("a.lin.weight", 4, f+1), good[2], good[3]},
		"no bias":             {good[1], good[2], good[3]},
		"none for \"classifi": {good[0], good[1]},
		"the model has 4":     append(slices.Clone(good[:2]), tensor("out.lin.weight", c, 4), tensor("out.bias", c), tensor("more.weight", 4, 4)),
		"a node's own row":    append(slices.Clone(good), tensor("a.lin_r.weight", 4, f)),
		"no weight or bias":   append(slices.Clone(good), tensor("running_mean", 4)),
		"have the same part":  append(slices.Clone(good), tensor("a.weight", f, 4)),
	} {
		if err := weights.Write(path, tensors); err != nil {
			t.Fatal(err)
		}
		err := ImportParameters(context.Background(), path, m, SquareRefused)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if !slices.Equal(weightsOf(t, m.Parts()), before) {
		t.Error("an error changed the model")
	}
	inside, err := layers.NewGCN(layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: d.Laplacian(), Depth: 1}), d.Features, d.Labels, layers.GCNOptions{Hidden: 4})
	if err != nil {
		t.Fatal(err)
	}
	for last, refused := range map[string]bool{"a.bias": true, "a.lin.bias": false} { // of GCNConv, and of a Linear before the propagation
		if err := weights.Write(path, append([]weights.Tensor{tensor(last, 4)}, good[1:]...)); err != nil {
			t.Fatal(err)
		}
		if err := ImportParameters(context.Background(), path, inside, SquareOutputsFirst); (err != nil && strings.Contains(err.Error(), "BiasAfter")) != refused {
			t.Errorf("%s before the propagation: error %v", last, err)
		}
	}
	good[2].Values[1] = 7 // (0, 1): of output 0, input 1
	if err := weights.Write(path, good); err != nil {
		t.Fatal(err)
	}
	for square, at := range map[Square]int{SquareOutputsFirst: 4, SquareInputsFirst: 1} {
		if err := ImportParameters(context.Background(), path, m, square); err != nil {
			t.Fatal(err)
		}
		if w := m.Classifier.W.Value().Data().([]float32); w[at] != 7 {
			t.Errorf("square %d: %v", square, w)
		}
	}
}

// TestExportInALoop exports in the middle of a loop, goes on, and imports: the program has the
// exported parameters again, and so has another model.
func TestExportInALoop(t *testing.T) {
	d := smallData(t, 300, 4)
	m := smallModel(t, d)
	program, err := NewProgram(m)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	path := filepath.Join(t.TempDir(), "mine.safetensors")
	want := slices.Clone(program.Parameters())
	if err := ExportParameters(path, m); err != nil {
		t.Fatal(err)
	}
	for k := range program.Parameters() {
		program.Parameters()[k]++
	}
	if err := ImportParameters(t.Context(), path, m, 0); err != nil || !slices.Equal(program.Parameters(), want) {
		t.Errorf("the program has other parameters than those exported, or %v", err)
	}
	other := smallModel(t, d)
	if err := ImportParameters(t.Context(), path, other, 0); err != nil {
		t.Error(err)
	}
	program.Parameters()[3] = float32(math.NaN())
	if err := ExportParameters(path, m); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("error %v about a value that is not finite", err)
	}
	if err := ImportParameters(t.Context(), path, m, 0); err != nil || !slices.Equal(program.Parameters(), want) {
		t.Errorf("the refused export has changed the file, or %v", err)
	}
	if err := ExportParameters(filepath.Join(path, "x.npz"), other); err == nil {
		t.Error("no error about a file that cannot be written")
	}
}
