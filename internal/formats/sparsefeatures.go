package formats

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// sparseFeatures makes sparse features of the rows of nodes. row returns the columns and the
// values of a node's row; nil values are 1. The columns may be in any order. The values of
// a column that is there more than once add up, as in SciPy. The columns are in [0, cols).
func sparseFeatures(ctx context.Context, name string, nodes, cols, entries int, row func(node int) ([]int32, []float32)) (*graph.Features, error) {
	if cols == 0 {
		return nil, fmt.Errorf("datasets: %s: no features", name)
	}
	m := &graph.CSR{Rows: nodes, Cols: cols, Ptr: make([]int64, 1, nodes+1), Idx: make([]int32, 0, entries), Val: make([]float32, 0, entries)}
	ones := true
	var unsorted []sparseEntry
	for node := range nodes {
		if node%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		columns, values := row(node)
		first := len(m.Idx)
		if ascending(columns) {
			m.Idx = append(m.Idx, columns...)
			if values == nil {
				for range columns {
					m.Val = append(m.Val, 1)
				}
			} else {
				m.Val = append(m.Val, values...)
			}
		} else {
			unsorted = unsorted[:0]
			for k, j := range columns {
				e := sparseEntry{j, 1}
				if values != nil {
					e.value = values[k]
				}
				unsorted = append(unsorted, e)
			}
			slices.SortStableFunc(unsorted, func(a, b sparseEntry) int { return cmp.Compare(a.column, b.column) })
			for _, e := range unsorted {
				if last := len(m.Idx) - 1; last >= first && m.Idx[last] == e.column {
					m.Val[last] += e.value
					continue
				}
				m.Idx, m.Val = append(m.Idx, e.column), append(m.Val, e.value)
			}
		}
		for k, v := range m.Val[first:] {
			if v-v != 0 { // NaN or infinite
				return nil, fmt.Errorf("datasets: %s: feature %d of node %d is %v, want finite", name, m.Idx[first+k], node, v)
			}
			ones = ones && v == 1
		}
		m.Ptr = append(m.Ptr, int64(len(m.Idx)))
	}
	if ones {
		m.Val = nil
	}
	return &graph.Features{Rows: nodes, Cols: cols, Sparse: m}, nil
}

type sparseEntry struct {
	column int32
	value  float32
}

// ascending tells whether each column is greater than the one before it.
func ascending(columns []int32) bool {
	for k := 1; k < len(columns); k++ {
		if columns[k-1] >= columns[k] {
			return false
		}
	}
	return true
}

// readSparseFeatures reads a SciPy CSR matrix with a row for each node. The names of its
// members start with prefix.
func readSparseFeatures(ctx context.Context, a *npy.Archive, prefix string, nodes int) (*graph.Features, error) {
	shape, p, err := readSparse(ctx, a, prefix)
	if err != nil {
		return nil, err
	}
	var values []float32
	err = withArray(a, prefix+"data", func(r *npy.Reader) error {
		values, err = r.Float32s(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if shape[0] != nodes {
		return nil, fmt.Errorf("datasets: %s: %d rows for %d nodes", p.name, shape[0], nodes)
	}
	if len(values) != len(p.idx) {
		return nil, fmt.Errorf("datasets: %s: %d values for %d indices", p.name, len(values), len(p.idx))
	}
	return sparseFeatures(ctx, p.name, nodes, shape[1], len(values), func(i int) ([]int32, []float32) {
		return p.idx[p.ptr[i]:p.ptr[i+1]], values[p.ptr[i]:p.ptr[i+1]]
	})
}

// readSparseFile reads a SciPy CSR matrix that scipy.sparse.save_npz has written, with a row
// for each node.
func readSparseFile(ctx context.Context, path string, nodes int) (*graph.Features, error) {
	a, err := openSparseFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return readSparseFeatures(ctx, a, "", nodes)
}

// openSparseFile opens the archive of a SciPy CSR matrix.
func openSparseFile(ctx context.Context, path string) (*npy.Archive, error) {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"indptr", "indices", "data", "shape"} {
		if !a.Has(key) {
			a.Close()
			return nil, fmt.Errorf("datasets: %s: no %s: want a SciPy CSR matrix, as scipy.sparse.save_npz(file, matrix.tocsr()) writes it", path, key)
		}
	}
	if a.Has("format") {
		text, err := readText(ctx, a, "format")
		if err == nil && text != "csr" {
			err = fmt.Errorf("datasets: %s: a matrix of SciPy's format %q, want csr: save matrix.tocsr()", path, text)
		}
		if err != nil {
			a.Close()
			return nil, err
		}
	}
	return a, nil
}

// readText reads an array of a single text without dimensions, such as SciPy's format.
func readText(ctx context.Context, source arraySource, key string) (text string, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if !r.Text() || len(r.Shape) != 0 {
			return fmt.Errorf("datasets: %s: element type %q of shape %v, want one string", r.Name(), r.Descr, r.Shape)
		}
		return r.EachText(ctx, func(element []byte) error {
			text = string(element)
			return nil
		})
	})
	return text, err
}
