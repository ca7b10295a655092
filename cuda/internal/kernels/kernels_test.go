package kernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPTXIsOfTheSource(t *testing.T) {
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Modules() {
		t.Run(m.Name, func(t *testing.T) {
			if err := m.Check(root); err != nil {
				t.Error(err)
			}
		})
	}
}

// project makes a folder with one module, its header, and PTX made of them
// without a compiler.
func project(t *testing.T) (root string, m Module) {
	t.Helper()
	root = t.TempDir()
	write(t, root, "a/k.cu", "#include \"lib/h.h\"\n#include <math.h>\nextern \"C\" __global__ void k(long long n) {}\n")
	write(t, root, "a/lib/h.h", "#pragma once\n # include \"../j.h\"\n")
	write(t, root, "a/j.h", "int j;\n")
	m = Module{Name: "k", Source: "a/k.cu", PTX: "a/k.ptx"}
	files, err := m.Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	text := ".visible .entry k(\n)\n{\n}\n"
	write(t, root, "a/k.ptx", header(files, "a compiler", []byte(text))+text)
	return root, m
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestSourcesFollowsIncludes(t *testing.T) {
	root, m := project(t)
	files, err := m.Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if got, want := strings.Join(names, " "), "a/k.cu a/lib/h.h a/j.h"; got != want {
		t.Errorf("sources %s, want %s", got, want)
	}
}

func TestCheckSeesWhatChanged(t *testing.T) {
	for _, c := range []struct{ name, file, old, new, want string }{
		{"nothing", "", "", "", ""},
		{"source", "a/k.cu", "long long n", "long long m", "not of a/k.cu as it is now"},
		{"header of a header", "a/j.h", "int j", "int i", "not of a/k.cu as it is now"},
		{"PTX", "a/k.ptx", ".entry k", ".entry l", "changed after it was compiled"},
		{"no hash", "a/k.ptx", "// text sha256:", "// other ", "has no line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, m := project(t)
			if c.file != "" {
				path := filepath.Join(root, filepath.FromSlash(c.file))
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				write(t, root, c.file, strings.Replace(string(text), c.old, c.new, 1))
			}
			err := m.Check(root)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	root, m := project(t)
	m.PTX = "a/none.ptx"
	if err := m.Check(root); err == nil {
		t.Error("a PTX file that is not there was accepted")
	}
}

// TestCompile compiles the project's own kernels where there is a clang, into a
// copy of the tree: the same source must give the PTX that is committed, if the
// same version of the compiler made it.
func TestCompile(t *testing.T) {
	tools, err := FindToolchain()
	if err != nil {
		t.Skip(err)
	}
	version, err := tools.version(t.Context())
	if err != nil {
		t.Skip(err)
	}
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	m := Modules()[0]
	committed, err := os.ReadFile(filepath.Join(root, m.PTX))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(committed[:200]), version+" ") {
		t.Skipf("the PTX is not of %s", version)
	}
	files, err := m.Sources(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.compile(t.Context(), root, t.TempDir(), Toolchain{Clang: tools.Clang})
	if err != nil {
		t.Fatal(err)
	}
	if header(files, version, text)+string(text) != string(committed) {
		t.Errorf("%s compiles to other PTX than is committed: go run ./cuda/ptx", m.Source)
	}
}

func TestCompileRefusesWhatItCannotDefine(t *testing.T) {
	tools, err := FindToolchain()
	if err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	write(t, root, "k.cu", "extern \"C\" __global__ void k(float *x) { *x = expf(*x); }\n")
	m := Module{Name: "k", Source: "k.cu", PTX: "k.ptx"}
	_, err = m.Compile(t.Context(), root, Toolchain{Clang: tools.Clang})
	if err == nil || !strings.Contains(err.Error(), "expf") {
		t.Errorf("error %v, want one that names expf", err)
	}
	write(t, root, "k.cu", "extern \"C\" __global__ void k(float *x) { nonsense }\n")
	if _, err = m.Compile(t.Context(), root, Toolchain{Clang: tools.Clang}); err == nil {
		t.Error("nonsense was compiled")
	}
}

// TestModFiles holds go.cuda.mod and its sums to go.mod and its own: they differ
// in nothing but the replacement.
func TestModFiles(t *testing.T) {
	root, err := Root(".")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	rest, ok := strings.CutPrefix(read("go.cuda.mod"), read("go.mod"))
	if want := "\nreplace gorgonia.org/cu => ./cuda/cu\n"; !ok || !strings.HasSuffix(rest, want) || strings.Count(rest, "\n") > 4 {
		t.Error("go.cuda.mod is not go.mod with one replacement: see cuda/README.md")
	}
	if read("go.cuda.sum") != read("go.sum") {
		t.Error("go.cuda.sum is not go.sum: cp go.sum go.cuda.sum")
	}
}
