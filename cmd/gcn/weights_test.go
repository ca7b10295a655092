package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/weights"
)

// TestExportAndImport moves a run's weights to another folder: the predictions are the same.
func TestExportAndImport(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, more := range map[string][]string{
		"program": nil, "equation": {"--model", "equation", "--bias-after", "--activation", "relu"}, "norm": {"--batch-norm"},
		"blocks": {"--input-layer", "--pre-norm", "--batch-norm", "--feed-forward", "--activation", "gelu"},
	} {
		succeed(t, trainArgs(append([]string{"--out", name, "-q", "--method", "ladies-flat-debiased"}, more...)...)...)
		succeed(t, "predict", "--run", name, "--out", "want.npy", "--logits")
		file := name + ".safetensors"
		succeed(t, "export", "--run", name, "--out", file)
		succeed(t, append([]string{"import", file, "--data", smallData, "--hidden", "16", "--out", file + "-run"}, more...)...)
		succeed(t, "predict", "--run", file+"-run", "--out", "got.npy", "--logits")
		if !bytes.Equal(readFile(t, "got.npy"), readFile(t, "want.npy")) {
			t.Errorf("%s: other predictions", file)
		}
		if out := succeed(t, "eval", "--run", file+"-run"); out.stderr != "" {
			t.Errorf("eval says %s", out.stderr)
		}
		fail(t, exitFailed, []string{"taken by a run"}, append([]string{"import", file, "--data", smallData, "--hidden", "16", "--out", name}, more...)...)
	}
	// Biases after the propagation have other names: the other model refuses them.
	succeed(t, trainArgs("--out", "after", "-q", "--bias-after")...)
	succeed(t, "export", "--run", "after", "--out", "after.safetensors")
	fail(t, exitFailed, []string{"after.safetensors", "conv0.bias_after", "--bias-after"}, "import", "after.safetensors", "--data", smallData, "--hidden", "16", "--out", "x")
	succeed(t, "import", "after.safetensors", "--data", smallData, "--hidden", "16", "--out", "after-run", "--bias-after")
	fail(t, exitFailed, []string{"program.safetensors", "conv0.bias", "without --bias-after"}, "import", "program.safetensors", "--data", smallData, "--hidden", "16", "--out", "x", "--bias-after")
	fail(t, exitFailed, []string{"program.safetensors", "conv0", "shape"}, "import", "program.safetensors", "--data", smallData, "--hidden", "17", "--out", "x")
	fail(t, exitUsage, []string{"--out"}, "import", "program.safetensors")
	fail(t, exitUsage, []string{"--square"}, "import", "program.safetensors", "--out", "x", "--square", "round")
	fail(t, exitUsage, []string{".safetensors"}, "export", "--run", "program", "--out", "x.pt")
	fail(t, exitUsage, []string{"--run is needed"}, "export", "--out", "x.safetensors")
	fail(t, exitFailed, []string{"none.pt"}, "import", "none.pt", "--data", smallData, "--out", "x")
	if _, err := os.Stat("x"); err == nil {
		t.Error("a refused import leaves a folder")
	}
}

// TestImportTorch imports a recorded state_dict by the command, for a graph of its sizes.
func TestImportTorch(t *testing.T) {
	state, err := filepath.Abs("../../train/testdata/torch/gcn.pt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("g", 0o777); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	array := func(name string, write func(b *bytes.Buffer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join("g", name), b.Bytes())
	}
	const n = 60
	ptr, idx, y, x := []int64{0}, []int64{}, []int64{}, []float32{}
	for v := range n {
		idx = append(idx, int64((v+1)%n), int64((v+7)%n))
		ptr, y = append(ptr, int64(len(idx))), append(y, int64(v%3))
		for range 5 {
			x = append(x, float32(rng.NormFloat64()))
		}
	}
	array("indptr.npy", func(b *bytes.Buffer) error { return npy.Write(b, ptr, len(ptr)) })
	array("indices.npy", func(b *bytes.Buffer) error { return npy.Write(b, idx, len(idx)) })
	array("labels.npy", func(b *bytes.Buffer) error { return npy.Write(b, y, n) })
	array("feat.npy", func(b *bytes.Buffer) error { return npy.Write(b, x, n, 5) })
	args := []string{"import", state, "--data", "npy:g", "--model", "equation", "--hidden", "4", "--activation", "relu", "--out", "r"}
	fail(t, exitFailed, []string{"gcn.pt", "conv1.bias", "--bias-after"}, args...)
	out := succeed(t, append(args, "--bias-after")...).stdout
	if !regexp.MustCompile(`conv1\.weight +conv2\.lin\.weight +3, 4 +true\n`).MatchString(out) {
		t.Errorf("the mapping is not printed: %s", out)
	}
	succeed(t, "predict", "--run", "r", "--out", "p.csv")
	succeed(t, "export", "--run", "r", "--out", "r.safetensors")
	tensors, err := weights.Read(t.Context(), "r.safetensors")
	if err != nil || len(tensors) != 4 || tensors[0].Name != "conv0.weight" {
		t.Errorf("%v, %v", tensors, err)
	}
	// Equal shapes under names without an order need a map.
	var words []weights.Tensor
	for k, name := range []string{"last.lin.weight", "last.bias", "first.lin.weight", "first.bias"} {
		x := weights.Tensor{Name: name, Shape: []int{3}, Values: make([]float32, 9-6*(k%2))}
		if k%2 == 0 {
			x.Shape = []int{3, 3}
		}
		words = append(words, x)
	}
	args = []string{"import", "words.safetensors", "--data", "npy:g", "--hidden", "3", "--layers", "3", "--model", "equation", "--bias-after", "--out", "w"}
	first := []weights.Tensor{{Name: "in.lin.weight", Shape: []int{3, 5}, Values: make([]float32, 15)}, {Name: "in.bias", Shape: []int{3}, Values: make([]float32, 3)}}
	if err := weights.Write("words.safetensors", append(words, first...)); err != nil {
		t.Fatal(err)
	}
	fail(t, exitFailed, []string{"words.safetensors", "first, last", "--map first=conv1"}, args...)
	fail(t, exitFailed, []string{"words.safetensors", `no layer "second"`}, append(args, "--map", "second=conv1")...)
	succeed(t, append(args, "--map", "first=conv1,last=conv2")...)
	succeed(t, append(args[:len(args)-1], "w2", "--map", "first=conv1")...)
	fail(t, exitFailed, []string{`no layer "second"`}, append(args[:len(args)-1], "w3", "--map", "second=conv1", "--map", "first=conv1")...)
	fail(t, exitFailed, []string{"SAGE", "symmetric"}, "import", filepath.Join(filepath.Dir(state), "sage.pt"), "--data", "npy:g", "--model", "equation", "--hidden", "4", "--bias-after", "--out", "s")
}
