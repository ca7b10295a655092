package formats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// source has arrays by their names: the members of an archive, the files of a folder, or the
// attributes of a pickled object.
type source struct {
	*reader
	name     string
	has      func(key string) bool
	open     func(key string) (*npy.Reader, error)
	isFolder bool
}

// folder is the source of the .npy files of a folder.
func (r *reader) folder(dir string) *source {
	path := func(key string) string { return filepath.Join(dir, key+".npy") }
	return &source{r, dir, func(key string) bool { return exists(path(key)) }, func(key string) (*npy.Reader, error) { return npy.Open(path(key)) }, true}
}

// file is the source of one .npy file.
func (r *reader) file(path string) *source {
	return &source{r, path, nil, func(string) (*npy.Reader, error) { return npy.Open(path) }, false}
}

// archive opens an .npz file.
func (r *reader) archive(path string) *source {
	a := new(npy.Archive)
	if r.err == nil {
		if a, r.err = npy.OpenArchive(path); r.err != nil {
			a = new(npy.Archive)
		} else {
			r.files = append(r.files, a)
		}
	}
	return &source{r, path, a.Has, a.Open, false}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func isNPY(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

func isNPZ(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// place names a matrix of several arrays, or one of them.
func (s *source) place(prefix, key string) string {
	if s.isFolder {
		return filepath.Join(s.name, key+".npy")
	}
	return strings.TrimSuffix(s.name+": "+strings.TrimSuffix(prefix, "_"), ": ")
}

// array calls read with an array.
func (s *source) array(key string, read func(a *npy.Reader) error) {
	if s.err != nil {
		return
	}
	a, err := s.open(key)
	if s.ok(err) {
		s.ok(read(a))
		a.Close()
	}
}

// checkShape compares the shape of an array with numbers, and with names of any number, which
// is above 0 behind the first. One name stands for a vector, or a matrix of one column.
func checkShape(a *npy.Reader, want []any) error {
	shape := a.Shape
	if _, isText := want[0].(string); isText && len(want) == 1 {
		if len(shape) == 1 || len(shape) == 2 && shape[1] == 1 {
			return nil
		}
		return fmt.Errorf("datasets: %s: shape %v, want one dimension", a.Name(), shape)
	}
	good, texts := len(shape) == len(want), make([]string, len(want))
	for k, n := range want {
		exact, isNumber := n.(int)
		good = good && (isNumber && shape[k] == exact || !isNumber && (k == 0 || shape[k] > 0))
		texts[k] = fmt.Sprint(n)
	}
	if good {
		return nil
	}
	return fmt.Errorf("datasets: %s: shape %v, want (%s)", a.Name(), shape, strings.Join(texts, ", "))
}

// numbers returns the numbers of an array of some shape, see checkShape, and the array.
func numbers[T int32 | int64 | float32](s *source, key string, shape ...any) (values []T, array *npy.Reader) {
	s.array(key, func(a *npy.Reader) (err error) {
		if array, err = a, checkShape(a, shape); err == nil {
			values, err = npy.All[T](s.ctx, a)
		}
		return err
	})
	return values, array
}

func vector[T int32 | int64 | float32](s *source, key string) []T {
	values, _ := numbers[T](s, key, "elements")
	return values
}

// texts returns the elements of a vector of texts, or of whole numbers as texts.
func (s *source) texts(key string) (texts []string) {
	s.array(key, func(a *npy.Reader) error {
		err := checkShape(a, []any{"elements"})
		switch {
		case err != nil:
			return err
		case a.Text():
			return a.EachText(s.ctx, func(element []byte) error {
				texts = append(texts, unique.Make(string(element)).Value()) // equal texts lie in memory once
				return nil
			})
		case a.Mask():
			return fmt.Errorf("datasets: %s: booleans where names should be", a.Name())
		}
		values, err := a.Int64s(s.ctx)
		for _, v := range values {
			texts = append(texts, strconv.FormatInt(v, 10))
		}
		return err
	})
	return texts
}

// header returns an array that is closed, for its name, shape and element type.
func (s *source) header(key string) (array *npy.Reader) {
	array = new(npy.Reader)
	s.array(key, func(a *npy.Reader) error { array = a; return nil })
	return array
}

// isMask tells whether numbers of n nodes are a mask. A list of nodes has none twice, so 0
// and 1 for every node are no list.
func isMask(values []int64, n int) bool {
	return len(values) == n && n > 2 && !slices.ContainsFunc(values, func(v int64) bool { return v != 0 && v != 1 })
}

// masked returns the nodes whose entry is not 0.
func masked[T int32 | int64](mask []T) (nodes []int32) {
	for i, in := range mask {
		if in != 0 {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}

// So that a few bytes cannot claim gigabytes, a matrix that is made of entries is small, or
// has enough of them.
const (
	SmallMatrix  = 1 << 24 // cells
	CellsAnEntry = 4096    // at most, in larger matrices
)

// zeros makes a matrix of zeros, if it fits in memory.
func zeros(what string, rows, cols int) ([]float32, error) {
	what = fmt.Sprintf("datasets: %s: %d×%d numbers", what, rows, cols)
	if err := memory.Check(what, memory.Product(int64(rows), int64(cols), 4)); err != nil {
		return nil, err
	}
	return make([]float32, rows*cols), nil
}

// dense reads a matrix of finite features. rows is their number, or a name if it may be any.
func (s *source) dense(key string, rows any) *graph.Features {
	data, a := numbers[float32](s, key, rows, "features")
	if s.err != nil {
		return nil
	}
	s.ok(checkFinite(a.Name(), 0, a.Shape[1], data))
	return &graph.Features{Rows: a.Shape[0], Cols: a.Shape[1], Data: data}
}

// checkFinite checks rows of features, from that of node first on.
func checkFinite(name string, first, cols int, rows []float32) error {
	for k, v := range rows {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("datasets: %s: feature %d of node %d is %v, want finite", name, k%cols, first+k/cols, v)
		}
	}
	return nil
}

// matrixSize returns the shape of a SciPy matrix.
func (s *source) matrixSize(prefix string) (rows, cols int) {
	dims := vector[int64](s, prefix+"shape")
	good := len(dims) == 2 && min(dims[0], dims[1]) >= 0 && max(dims[0], dims[1]) <= math.MaxInt32
	if !s.check(good, s.name, "%sshape %v, want two dimensions in [0, %d]", prefix, dims, math.MaxInt32) {
		return 0, 0
	}
	return int(dims[0]), int(dims[1])
}
