package formats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// source has arrays by their names: the members of an archive, the files of a folder, or the
// attributes of a pickled object.
type source struct {
	*reader
	name string
	has  func(key string) bool
	open func(key string) (*npy.Reader, error)
}

// folder is the source of the .npy files of a folder.
func (r *reader) folder(dir string) *source {
	path := func(key string) string { return filepath.Join(dir, key+".npy") }
	return &source{r, dir, func(key string) bool { return exists(path(key)) }, func(key string) (*npy.Reader, error) { return npy.Open(path(key)) }}
}

// file is the source of one .npy file.
func (r *reader) file(path string) *source {
	return &source{r, path, nil, func(string) (*npy.Reader, error) { return npy.Open(path) }}
}

// archive opens an .npz file.
func (r *reader) archive(path string) *source {
	a := must(npy.OpenArchive(path))
	r.files = append(r.files, a)
	return &source{r, path, a.Has, a.Open}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isNPY(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

func isNPZ(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// array opens an array, which the reader closes at its end. It has a shape, see checkShape, unless
// that is empty.
func (s *source) array(key string, shape ...any) *npy.Reader {
	a := must(s.open(key))
	s.files = append(s.files, a)
	if len(shape) > 0 {
		checkShape(a, shape)
	}
	return a
}

// checkShape compares the shape of an array with numbers, and with names of any number, which
// is above 0 behind the first. One name stands for a vector, a matrix of one
// column or a scalar. A vector may stand for a matrix of tasks.
func checkShape(a *npy.Reader, want []any) {
	shape := a.Shape
	if len(shape) == 1 && want[len(want)-1] == "tasks" {
		want = want[:1]
	}
	if _, isText := want[0].(string); isText && len(want) == 1 {
		check(len(shape) < 2 || len(shape) == 2 && shape[1] == 1, a.Name(), "shape %v, want one dimension", shape)
		return
	}
	good, texts := len(shape) == len(want), make([]string, len(want))
	for k, n := range want {
		exact, isNumber := n.(int)
		good = good && (isNumber && shape[k] == exact || !isNumber && (k == 0 || shape[k] > 0))
		texts[k] = fmt.Sprint(n)
	}
	check(good, a.Name(), "shape %v, want (%s)", shape, strings.Join(texts, ", "))
}

// numbers returns the numbers of an array of some shape, and the array.
func numbers[T int32 | int64 | float32](s *source, key string, shape ...any) ([]T, *npy.Reader) {
	a := s.array(key, shape...)
	return must(npy.All[T](s.ctx, a)), a
}

func vector[T int32 | int64 | float32](s *source, key string) []T {
	return must(npy.All[T](s.ctx, s.array(key, "elements")))
}

// texts returns the elements of a vector of texts, or of whole numbers as texts.
func (r *reader) texts(a *npy.Reader) (texts []string) {
	checkShape(a, []any{"elements"})
	if a.Text() {
		return must(a.Texts(r.ctx))
	}
	for _, v := range must(npy.All[int64](r.ctx, a)) {
		texts = append(texts, strconv.FormatInt(v, 10))
	}
	return texts
}

// masked returns the nodes whose entry differs from out, the entry of a node that is left out.
func masked[T int32 | string](mask []T, out T) (nodes []int32) {
	for i, in := range mask {
		if in != out {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}

// zeros makes a matrix of zeros, if it fits in memory.
func zeros(what string, rows, cols int) []float32 {
	what = fmt.Sprintf("datasets: %s: %d×%d numbers", what, rows, cols)
	try(memory.Check(what, memory.Product(rows, cols, 4)))
	return make([]float32, rows*cols)
}

// dense reads a matrix of features. rows is their number, or a name if it may be any.
func (s *source) dense(key string, rows any) {
	data, a := numbers[float32](s, key, rows, "features")
	s.setFeatures(a.Name(), &graph.Features{Rows: a.Shape[0], Cols: a.Shape[1], Data: data})
}

// setFeatures takes features of a file, which must be finite.
func (r *reader) setFeatures(name string, x *graph.Features) {
	tryIn(name, x.Validate(r.ctx))
	r.Features = x
}

// matrixSize returns the shape of a SciPy matrix.
func (s *source) matrixSize(prefix string) (rows, cols int) {
	dims := vector[int64](s, prefix+"shape")
	good := len(dims) == 2 && slices.Min(dims) >= 0 && slices.Max(dims) <= math.MaxInt32
	check(good, s.name, "%sshape %v, want two dimensions in [0, %d]", prefix, dims, math.MaxInt32)
	return int(dims[0]), int(dims[1])
}
