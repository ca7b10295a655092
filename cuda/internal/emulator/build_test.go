package emulator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gcn-layerwise/gcn/cuda/internal/kernels"
)

// The packages that run on the emulator test its behaviour, gorgonia.org/cu (cuda/cu)
// above all. The tests here are of the build.

func root(t *testing.T) string {
	t.Helper()
	dir, err := kernels.Root(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	first, err := Build(t.Context(), root(t), dir)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(first.CUDA)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.CUBLAS); err != nil {
		t.Error(err)
	}
	second, err := Build(t.Context(), root(t), dir)
	if err != nil || second != first {
		t.Errorf("built as %v, then %v: %v", first, second, err)
	}
	if again, err := os.Stat(second.CUDA); err != nil || !again.ModTime().Equal(made.ModTime()) {
		t.Errorf("it was built again: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if env := strings.Join(second.Environment(), " "); env != "GCN_CUDA="+first.CUDA+" GCN_CUBLAS="+first.CUBLAS {
		t.Errorf("environment %s", env)
	}
}

func TestBuildErrors(t *testing.T) {
	t.Setenv("CXX", "no-such-compiler")
	if _, err := Build(t.Context(), root(t), t.TempDir()); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("no compiler: %v", err)
	}
	t.Setenv("CXX", "false")
	dir := t.TempDir()
	if _, err := Build(t.Context(), root(t), dir); err == nil || errors.Is(err, ErrNoCompiler) {
		t.Errorf("a compiler that fails: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("a failed build leaves %d files, %v", len(left), err)
	}
	t.Setenv("CXX", "true")
	if _, err := Build(t.Context(), t.TempDir(), dir); err == nil {
		t.Error("a folder that is not the project was built")
	}
}

// Every kernel of every module is in the sources that are compiled.
func TestGenerate(t *testing.T) {
	texts, key, err := generate(root(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(key) != 64 || len(texts) != 2*len(kernels.Modules()) {
		t.Errorf("key %q, %d modules", key, len(texts))
	}
	for name, kernel := range map[string]string{"gcn": "gcn_spmm", "probe": "probe_scan"} {
		for text, function := range map[string]string{texts[name]: kernel, texts[name+".ptx"]: "x_" + kernel} {
			if !strings.Contains(text, "GCN_KERNEL("+kernel+", "+function+")") || !strings.Contains(text, "// source sha256:") || !strings.Contains(text, "// text sha256:") {
				t.Errorf("module %s lacks %s", name, function)
			}
		}
	}
}
