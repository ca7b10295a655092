package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `package sample

import "io"

const (
	Small   = 3
	Large   = 1 << 40
	Huge    = 1 << 100
	Precise = 0.1
	Typed   byte = 7
	hidden  = 1
)

var V int

func F(x int) error { return nil }
func Generic[T any](x T) T { return x }

type Box[T any] struct{ X T }
type IntBox = Box[int]
type Number interface{ ~int | ~float64 }

type Inner struct{}
func (Inner) Own() {}
func (Inner) Both() {}
type Outer struct{ Inner; *Deep }
func (Outer) Both() {}
type Deep struct{}
func (*Deep) Dive() {}

type Shape interface {
	io.Writer
	Area(scale float64, rest ...string) (area float64, err error)
}
type Sealed interface{ sealed() }
`

func sampleBinding(t *testing.T) (*binding, string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "sample.go", sample, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.ForCompiler(files, "source", nil)}
	pkg, err := config.Check("example.org/sample", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBinding(pkg)
	source, err := b.source()
	if err != nil {
		t.Fatal(err)
	}
	return b, string(source)
}

func TestBinding(t *testing.T) {
	b, source := sampleBinding(t)
	source = strings.Join(strings.Fields(source), " ")
	for _, want := range []string{
		`"Small": reflect.ValueOf(sample.Small),`,
		`"Large": reflect.ValueOf(int64(sample.Large)),`,
		`"Huge": reflect.ValueOf(float64(sample.Huge)),`,
		`"Huge": "int:1267650600228229401496703205376",`,
		`"Typed": reflect.ValueOf(sample.Typed),`,
		`"V": reflect.ValueOf(&sample.V).Elem(),`,
		`"F": reflect.ValueOf(sample.F),`,
		`"IntBox": reflect.TypeFor[sample.IntBox](),`,
		`"Outer": []string{"Dive", "Own"},`,
		`"Shape": reflect.TypeFor[proxy_example_org_sample_Shape](),`,
		`Area_ func(any, float64, ...string) (float64, error) Write_ func(any, []byte) (int, error)`,
		`Area(a0 float64, a1 ...string) (float64, error) { return p.Area_(p.Object, a0, a1...) }`,
	} {
		if !strings.Contains(source, want) {
			t.Errorf("not there: %s", want)
		}
	}
	for _, not := range []string{"hidden", "Generic", "Number", `"Box"`, "proxy_example_org_sample_Sealed"} {
		if strings.Contains(source, not) {
			t.Errorf("should not be there: %s", not)
		}
	}
	if t.Failed() {
		t.Log(source)
	}
	skipped := strings.Join(b.skipped, "\n")
	for _, want := range []string{"Generic: generic function", "Box: generic type", "Number: type constraint", "Sealed: interpreted types cannot"} {
		if !strings.Contains(skipped, want) {
			t.Errorf("skipped: no %q in %q", want, skipped)
		}
	}
}

func TestBindingRepeats(t *testing.T) {
	_, first := sampleBinding(t)
	for range 5 {
		if _, again := sampleBinding(t); again != first {
			t.Fatal("two runs differ")
		}
	}
}

func TestWriteRemovesOldBindings(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x_old.go", "doc.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package bindings\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir, map[string][]byte{"x_new.go": []byte("package bindings\n")}); err != nil {
		t.Fatal(err)
	}
	found, _ := filepath.Glob(filepath.Join(dir, "*"))
	var names []string
	for _, name := range found {
		names = append(names, filepath.Base(name))
	}
	if got := strings.Join(names, " "); got != "doc.go x_new.go" {
		t.Error(got)
	}
}

func TestReadList(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(name, []byte("# all\n\na/b # why\n c\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := readList(name)
	if err != nil || strings.Join(got, "|") != "a/b|c" {
		t.Error(got, err)
	}
	if _, err := readList(name + ".not"); err == nil {
		t.Error("no error for a missing list")
	}
}
