package train

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	values, err := npy.All[float32](context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return values, shape
}

// torchGraph returns the features and the edges of testdata/torch, and labels of 3 classes.
func torchGraph(t *testing.T) (*graph.CSR, *graph.Features, *graph.Labels) {
	t.Helper()
	edges, _ := recorded(t, "edges")
	values, shape := recorded(t, "features")
	b, err := graph.NewBuilder(shape[0])
	if err != nil {
		t.Fatal(err)
	}
	for k := 0; k < len(edges); k += 2 {
		if err := b.Add(int32(edges[k]), int32(edges[k+1])); err != nil {
			t.Fatal(err)
		}
	}
	a, _ := b.Build()
	return a, &graph.Features{Rows: shape[0], Cols: shape[1], Data: values}, &graph.Labels{Classes: 3, Class: make([]int32, shape[0])}
}

// torchModel is a recorded model of testdata/torch, with a model of its form.
type torchModel struct {
	name  string
	depth int
	form  layers.Form
	mean  bool
}

var torchModels = []torchModel{{"gcn", 2, layers.FormEquation, false}, {"classifier", 2, layers.FormProgram, false}, {"sage", 2, layers.FormEquation, true}, {"deep", 12, layers.FormProgram, false}}

// importTorch imports a file into a new model, and returns the largest difference from the
// recorded logits.
func importTorch(t *testing.T, c torchModel, path string, o ImportOptions) (m *layers.GCN, found []Imported, worst float64, err error) {
	t.Helper()
	a, x, y := torchGraph(t)
	p := graph.NewLaplacian(a)
	if o.Mean = c.mean; c.mean {
		p = graph.NewRowLaplacian(a)
	}
	m, err = layers.NewGCN(layers.NewBatch(G.NewGraph(), &samplers.Full{Laplacian: p, Depth: c.depth}), x, y, layers.GCNOptions{Form: c.form, Hidden: 4, Activation: ops.ActivationReLU, BiasAfter: true})
	if err != nil {
		t.Fatal(err)
	}
	before := weightsOf(t, m.Parts())
	if found, err = ImportParameters(t.Context(), path, m, o); err != nil {
		if !slices.Equal(weightsOf(t, m.Parts()), before) {
			t.Error("an error changed the model")
		}
		return m, nil, 0, err
	}
	want, _ := recorded(t, c.name)
	got, err := m.Infer(t.Context(), p, x, nil)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d logits, want %d; error %v", len(got), len(want), err)
	}
	for k := range want {
		worst = max(worst, math.Abs(float64(got[k]-want[k])))
	}
	return m, found, worst, nil
}

// TestImportTorch compares the logits of imported models with those that PyTorch recorded.
func TestImportTorch(t *testing.T) {
	for _, c := range torchModels {
		m, found, worst, err := importTorch(t, c, filepath.Join("testdata/torch", c.name+".pt"), ImportOptions{Square: SquareInputsFirst}) // the names tell, but of square weights of a Linear
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: the largest difference is %.1e", c.name, worst)
		if worst > 1e-5 || len(found) != len(m.Parameters) || !found[0].Transposed {
			t.Errorf("%s: logits differ by %v: %+v", c.name, worst, found)
		}
		// Out and in again.
		path := filepath.Join(t.TempDir(), c.name+".safetensors")
		if err := ExportParameters(path, m); err != nil {
			t.Fatal(err)
		}
		before := weightsOf(t, m.Parts())
		for _, p := range m.Parameters {
			clear(p.Value().Data().([]float32))
		}
		if _, err := ImportParameters(t.Context(), path, m, ImportOptions{}); err != nil || !slices.Equal(weightsOf(t, m.Parts()), before) {
			t.Errorf("%s: other parameters come back, or %v", path, err)
		}
	}
}

// Tensors in any order and under other names give PyTorch's logits, or are refused.
func TestImportOrders(t *testing.T) {
	number := regexp.MustCompile(`\d+`)
	numbered := func(pattern string, by int) func(string) string { // conv1. becomes layers.0. or so
		return func(name string) string {
			layer, rest, _ := strings.Cut(strings.Replace(name, "convs.", "convs", 1), ".")
			if n, err := strconv.Atoi(number.FindString(layer)); err == nil {
				layer = fmt.Sprintf(pattern, n+by)
			}
			return layer + "." + rest
		}
	}
	word := func(name string) string { // without an order
		return number.ReplaceAllStringFunc(name, func(n string) string {
			return strings.Repeat("x", 20-len(n)) + string(rune('a'+len(n))) + strings.Repeat("y", int(n[len(n)-1]-'0'))
		})
	}
	same := func(name string) string { // 01, 001, … are one number, and so no order
		return number.ReplaceAllStringFunc(name, func(n string) string {
			zeros, _ := strconv.Atoi(n)
			return strings.Repeat("0", zeros) + "1"
		})
	}
	square := ImportOptions{Square: SquareOutputsFirst}
	for _, c := range torchModels {
		tensors, err := weights.Read(t.Context(), filepath.Join("testdata/torch", c.name+".pt"))
		if err != nil {
			t.Fatal(err)
		}
		for k, rename := range map[string]func(string) string{
			"as recorded": func(name string) string { return name }, "from 0": numbered("layers.%d", -1), "from 8": numbered("conv%d", 7), "with zeros": numbered("gcn.%03d.inner", 0),
			"after another number": numbered("stage2.conv%d", 0), "only numbers": numbered("%d", 0),
			"words": word, "one number": same, "plain names": func(name string) string { return strings.ReplaceAll(name, ".lin.weight", ".weight") },
		} {
			ambiguous := (k == "words" || k == "one number") && c.name == "deep"
			for seed := range uint64(4) {
				other := slices.Clone(tensors)
				for i := range other {
					other[i].Name = rename(other[i].Name)
				}
				rand.New(rand.NewPCG(seed, 1)).Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
				path := filepath.Join(t.TempDir(), "w.safetensors")
				if err := weights.Write(path, other); err != nil {
					t.Fatal(err)
				}
				_, _, worst, err := importTorch(t, c, path, square)
				if (err != nil) != ambiguous || worst > 1e-5 {
					t.Fatalf("%s, %s, order %d: logits differ by %g, error %v", c.name, k, seed, worst, err)
				}
				if ambiguous && !strings.Contains(err.Error(), "may be each of the layers") {
					t.Fatal(err)
				}
			}
		}
	}
}

// A map names what names and shapes do not tell.
func TestImportMap(t *testing.T) {
	c := torchModels[1]
	tensors, err := weights.Read(t.Context(), filepath.Join("testdata/torch", c.name+".pt"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	write := func(names map[string]string) {
		t.Helper()
		other := slices.Clone(tensors)
		for k := range other {
			if name, is := names[other[k].Name]; is {
				other[k].Name = name
			}
		}
		if err := weights.Write(path, other); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		names, to map[string]string
		want      string // of the error
	}{
		{nil, map[string]string{"conv1": "conv0", "conv2": "conv1", "out": "classifier"}, ""},
		{nil, map[string]string{"out": "classifier"}, ""},
		{nil, map[string]string{"conv1": "conv1"}, `"conv2.lin.weight" has shape [4 4], and "conv0.weight" has [5 4]`},
		{nil, map[string]string{"conv1": "conv0", "conv2": "conv0"}, `have the same part in layer "conv0"`},
		{nil, map[string]string{"conv3": "conv0"}, `no layer "conv3"`},
		{nil, map[string]string{"conv1": "conv7"}, `no layer`},
		{map[string]string{"conv2.lin.weight": "W1", "conv2.bias": "b1"}, nil, `1" is no weight or bias`},
		{map[string]string{"conv2.lin.weight": "W1", "conv2.bias": "b1"}, map[string]string{"W1": "conv1.weight", "b1": "conv1.bias"}, ""},
		{map[string]string{"conv2.lin.weight": "W1"}, map[string]string{"W1": "conv1.scale"}, `no weight or bias`},
	} {
		write(one.names)
		_, found, worst, err := importTorch(t, c, path, ImportOptions{Square: SquareOutputsFirst, Layers: one.to})
		if one.want == "" && (err != nil || worst > 1e-5) {
			t.Errorf("%v: logits differ by %g, error %v: %+v", one.to, worst, err, found)
		}
		if one.want != "" && (err == nil || !strings.Contains(err.Error(), one.want)) {
			t.Errorf("%v: error %v, want %q", one.to, err, one.want)
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
	path := filepath.Join(t.TempDir(), "w.safetensors")
	before := weightsOf(t, m.Parts())
	for want, tensors := range map[string][]weights.Tensor{
		"is square":                   good, // 4 classes, 4 hidden
		"not finite":                  {good[0], good[1], good[2], nan},
		"has shape":                   {good[0], tensor("a.lin.weight", 4, f+1), good[2], good[3]},
		"tensor \"conv0.weight\" has": {tensor("classifier.weight", 4, c), good[3], tensor("conv0.weight", f, 5), tensor("conv0.bias", 5)},
		"no tensor for":               {good[1], good[2], good[3]},
		"left for \"classifi":         {good[0], good[1]},
		"no layer for more":           append(slices.Clone(good[:2]), tensor("out.lin.weight", c, 4), tensor("out.bias", c), tensor("more.weight", 4, 4)),
		"a node's own row":            append(slices.Clone(good), tensor("a.lin_r.weight", 4, f)),
		"no weight or bias":           append(slices.Clone(good), tensor("running_mean", 4)),
		"have the same part":          append(slices.Clone(good), tensor("a.weight", f, 4)),
	} {
		if err := weights.Write(path, tensors); err != nil {
			t.Fatal(err)
		}
		_, err := ImportParameters(context.Background(), path, m, ImportOptions{})
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
		for after, m := range map[bool]Model{false: inside, true: m} {
			if _, err := ImportParameters(context.Background(), path, m, ImportOptions{Square: SquareOutputsFirst}); (err != nil && strings.Contains(err.Error(), "BiasAfter")) != (refused != after) {
				t.Errorf("%s, BiasAfter %v: error %v", last, after, err)
			}
		}
	}
	good[2].Values[1] = 7 // (0, 1): of output 0, input 1
	if err := weights.Write(path, good); err != nil {
		t.Fatal(err)
	}
	for square, at := range map[Square]int{SquareOutputsFirst: 4, SquareInputsFirst: 1} {
		if _, err := ImportParameters(context.Background(), path, m, ImportOptions{Square: square}); err != nil {
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
	if _, err := ImportParameters(t.Context(), path, m, ImportOptions{}); err != nil || !slices.Equal(program.Parameters(), want) {
		t.Errorf("the program has other parameters than those exported, or %v", err)
	}
	other := smallModel(t, d)
	if _, err := ImportParameters(t.Context(), path, other, ImportOptions{}); err != nil {
		t.Error(err)
	}
	program.Parameters()[3] = float32(math.NaN())
	if err := ExportParameters(path, m); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("error %v about a value that is not finite", err)
	}
	if _, err := ImportParameters(t.Context(), path, m, ImportOptions{}); err != nil || !slices.Equal(program.Parameters(), want) {
		t.Errorf("the refused export has changed the file, or %v", err)
	}
	if err := ExportParameters(filepath.Join(path, "x.safetensors"), other); err == nil {
		t.Error("no error about a file that cannot be written")
	}
}
