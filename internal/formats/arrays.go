package formats

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// Arrays of NumPy-based layouts: read from a file or a member of an archive, checked, and
// turned into the parts of a Set.

// arraySource opens a named array: a member of an archive or a file of a folder.
type arraySource interface {
	Open(key string) (*npy.Reader, error)
}

type folder string

func (dir folder) path(key string) string { return filepath.Join(string(dir), key+".npy") }

func (dir folder) Open(key string) (*npy.Reader, error) { return npy.Open(dir.path(key)) }

// npyFile is the source of one array.
type npyFile string

func (f npyFile) Open(string) (*npy.Reader, error) { return npy.Open(string(f)) }

func isNPY(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npy") }

func isNPZ(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

func withArray(source arraySource, key string, read func(r *npy.Reader) error) error {
	r, err := source.Open(key)
	if err != nil {
		return err
	}
	defer r.Close()
	return read(r)
}

// vector checks that an array has one dimension, or is a matrix of one column.
func vector(r *npy.Reader) error {
	if len(r.Shape) == 1 || len(r.Shape) == 2 && r.Shape[1] == 1 {
		return nil
	}
	return fmt.Errorf("datasets: %s: shape %v, want one dimension", r.Name(), r.Shape)
}

func readInt32s(ctx context.Context, source arraySource, key string) ([]int32, error) {
	return readVector(ctx, source, key, (*npy.Reader).Int32s)
}

func readInt64s(ctx context.Context, source arraySource, key string) ([]int64, error) {
	return readVector(ctx, source, key, (*npy.Reader).Int64s)
}

func readVector[T any](ctx context.Context, source arraySource, key string, read func(*npy.Reader, context.Context) ([]T, error)) (values []T, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		values, err = read(r, ctx)
		return err
	})
	return values, err
}

// readIDs reads nodes in [0, n): their numbers, their names, or a mask of n booleans.
func readIDs(ctx context.Context, dir folder, key string, n int, names *graph.Names) ([]int32, error) {
	return readVector(ctx, dir, key, func(r *npy.Reader, ctx context.Context) ([]int32, error) {
		if r.Text() {
			if names == nil {
				return nil, fmt.Errorf("datasets: %s: names of nodes, but the folder has no names.npy", r.Name())
			}
			return (&NodeList{Nodes: n, Names: names}).named(ctx, r)
		}
		values, err := r.Int32s(ctx)
		switch {
		case err != nil:
			return nil, err
		case !r.Mask():
			return values, checkIDs(r.Name(), values, n)
		case len(values) != n:
			return nil, fmt.Errorf("datasets: %s: a mask of %d booleans for %d nodes", r.Name(), len(values), n)
		}
		return maskedNodes(values), nil
	})
}

// readMatrix reads a dense matrix of finite features with the given number of
// rows. A negative number of rows means any number.
func readMatrix(ctx context.Context, source arraySource, key string, rows int) (x *graph.Features, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if len(r.Shape) != 2 || r.Shape[1] == 0 {
			return fmt.Errorf("datasets: %s: shape %v, want (nodes, features)", r.Name(), r.Shape)
		}
		if rows >= 0 && r.Shape[0] != rows {
			return fmt.Errorf("datasets: %s: %d rows for %d nodes", r.Name(), r.Shape[0], rows)
		}
		data, err := r.Float32s(ctx)
		if err != nil {
			return err
		}
		x = &graph.Features{Rows: r.Shape[0], Cols: r.Shape[1], Data: data}
		return checkFinite(r.Name(), x)
	})
	return x, err
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

func checkFinite(name string, x *graph.Features) error {
	for k, v := range x.Data {
		if v-v != 0 { // NaN or infinite
			return fmt.Errorf("datasets: %s: feature %d of node %d is %v, want finite", name, k%x.Cols, k/x.Cols, v)
		}
	}
	return nil
}

// readLabels reads labels: classes from a vector of integers, where −1 is unknown, or of
// names, where "" and nan are; or binary tasks from a matrix of 0, 1 and, in floats, NaN. A
// matrix of one column counts as a vector if it holds names, or integers of more than a byte.
func readLabels(ctx context.Context, source arraySource, key string, nodes int) (y *graph.Labels, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if len(r.Shape) == 0 || len(r.Shape) > 2 || r.Shape[0] != nodes || len(r.Shape) == 2 && r.Shape[1] == 0 {
			return fmt.Errorf("datasets: %s: shape %v, want (%d) or (%d, tasks)", r.Name(), r.Shape, nodes, nodes)
		}
		if r.Text() {
			y, err = readClassNames(ctx, r)
			return err
		}
		if len(r.Shape) == 1 || r.Shape[1] == 1 && strings.HasPrefix(r.Descr, "<i") {
			classes, err := r.Int32s(ctx)
			if err != nil {
				return err
			}
			y, err = classLabels(r.Name(), classes)
			return err
		}
		values, err := r.Float32s(ctx)
		if err != nil {
			return err
		}
		y, err = taskLabels(r.Name(), values, r.Shape[1])
		return err
	})
	return y, err
}

// readClassNames reads the class of each node by its name.
func readClassNames(ctx context.Context, r *npy.Reader) (*graph.Labels, error) {
	if err := vector(r); err != nil {
		return nil, err
	}
	l := newNodeLabels(r.Name())
	l.inOrder = true
	known := make(map[string]category)
	node := int32(0)
	err := r.EachText(ctx, func(element []byte) error {
		v, seen := known[string(element)]
		if !seen {
			v = parseCategory(strings.TrimSpace(string(element)))
			known[string(element)] = v
		}
		node++
		return l.add(node-1, v)
	})
	if err != nil {
		return nil, err
	}
	return l.namedLabels(r.Shape[0])
}

// readNodeNames reads the id of each node: a text or a whole number.
func readNodeNames(ctx context.Context, source arraySource, key string, nodes int) (names *graph.Names, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		if r.Shape[0] != nodes {
			return fmt.Errorf("datasets: %s: %d names for %d nodes", r.Name(), r.Shape[0], nodes)
		}
		ids := nodeIDs{index: make(map[string]int32), tally: newTally(r.Name())}
		err := eachName(ctx, r, ids.addNew)
		names = &ids.names
		return err
	})
	return names, err
}

// classLabels checks classes and counts them. A class far above the number of nodes
// means a damaged file.
func classLabels(name string, classes []int32) (*graph.Labels, error) {
	most := int32(min(max(len(classes), 1<<16), math.MaxInt32))
	count := int32(0)
	for i, c := range classes {
		if c < -1 || c >= most {
			return nil, fmt.Errorf("datasets: %s: label of node %d is %d, outside [0, %d) and not -1 for unknown", name, i, c, most)
		}
		count = max(count, c+1)
	}
	if count == 0 {
		return nil, fmt.Errorf("datasets: %s: no node has a label", name)
	}
	return &graph.Labels{Classes: int(count), Class: classes}, nil
}

// taskLabels checks binary labels.
func taskLabels(name string, values []float32, tasks int) (*graph.Labels, error) {
	for k, v := range values {
		if v != 0 && v != 1 && v == v {
			return nil, fmt.Errorf("datasets: %s: label of node %d, task %d is %v, want 0, 1 or NaN for unknown", name, k/tasks, k%tasks, v)
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("datasets: %s: no labels", name)
	}
	return &graph.Labels{Tasks: tasks, Multi: values}, nil
}

// maskedNodes returns the nodes whose entry is not 0.
func maskedNodes(mask []int32) []int32 {
	nodes := make([]int32, 0, len(mask)-countZeros(mask))
	for i, in := range mask {
		if in != 0 {
			nodes = append(nodes, int32(i))
		}
	}
	return nodes
}

func countZeros(mask []int32) int {
	zeros := 0
	for _, v := range mask {
		if v == 0 {
			zeros++
		}
	}
	return zeros
}

func checkIDs(name string, ids []int32, n int) error {
	for k, id := range ids {
		if id < 0 || int(id) >= n {
			return fmt.Errorf("datasets: %s: element %d is node %d, outside [0, %d)", name, k, id, n)
		}
	}
	return nil
}
