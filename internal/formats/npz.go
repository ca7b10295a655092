package formats

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// NPZ reads an archive in one of two layouts: gnn-benchmark's (Shchur et al.
// 2018, arXiv:1811.05868), which has no split, or the heterophilous graphs'
// (Platonov et al. 2023, arXiv:2302.11640), which has several. It reads the split
// of the given number, from 0, or none if split is negative.
func NPZ(ctx context.Context, path string, split int, o Options) (*Set, error) {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	d := &Set{Direction: o.Direction}
	switch {
	case a.Has("adj_indptr"):
		err = readBenchmark(ctx, a, d, o)
	case a.Has("node_features") && a.Has("edges"):
		err = readHeterophilous(ctx, a, d, split)
	default:
		err = fmt.Errorf("datasets: %s: neither gnn-benchmark's layout (adj_indptr …) nor the heterophilous graphs' (node_features, edges …); it holds %s", path, strings.Join(a.Keys(), ", "))
	}
	return d, err
}

// readBenchmark reads adj_{indptr,indices,shape}, attr_{data,indices,indptr,
// shape} or attr_matrix, and labels. Edges are stored as found, in one direction
// or both; there is no split.
func readBenchmark(ctx context.Context, a *npy.Archive, d *Set, o Options) error {
	shape, p, err := readSparse(ctx, a, "adj_")
	if err != nil {
		return err
	}
	if shape[0] != shape[1] {
		return fmt.Errorf("datasets: %s: adjacency matrix is %d×%d, want square", p.name, shape[0], shape[1])
	}
	if p.val, err = sparseWeights(ctx, a, "adj_data", len(p.idx), d, o); err != nil {
		return err
	}
	if err := p.adjacency(ctx, d); err != nil {
		return err
	}
	if a.Has("attr_matrix") {
		d.Features, err = readMatrix(ctx, a, "attr_matrix", d.nodes())
	} else {
		d.Features, err = readSparseFeatures(ctx, a, "attr_", d.nodes())
	}
	if err != nil {
		return err
	}
	if a.Has("labels") {
		d.Labels, err = readLabels(ctx, a, "labels", d.nodes())
	}
	return err
}

// sparseWeights reads the values of a sparse matrix, the member key, as weights, if
// o.Weights says so. Otherwise a note says that they are not read.
func sparseWeights(ctx context.Context, a *npy.Archive, key string, entries int, d *Set, o Options) ([]float32, error) {
	switch {
	case o.Weights && !a.Has(key):
		return nil, fmt.Errorf("datasets: %s: weights=1, but there is no %s", a.Name(), key)
	case o.Weights:
		return readWeights(ctx, a, key, entries)
	case a.Has(key):
		d.Notes = append(d.Notes, fmt.Sprintf("%s not read: all edges have weight 1 (weights=1 reads it)", key))
	}
	return nil, nil
}

// readShape reads the shape of a SciPy matrix.
func readShape(ctx context.Context, a *npy.Archive, key string) (shape [2]int, err error) {
	dims, err := readInt64s(ctx, a, key)
	if err != nil {
		return shape, err
	}
	if len(dims) != 2 || dims[0] < 0 || dims[1] < 0 || dims[0] > math.MaxInt32 || dims[1] > math.MaxInt32 {
		return shape, fmt.Errorf("datasets: %s: %s %v, want two dimensions in [0, %d]", a.Name(), key, dims, math.MaxInt32)
	}
	return [2]int{int(dims[0]), int(dims[1])}, nil
}

// readSparse reads shape and pattern of a SciPy CSR matrix. The names of its members
// start with prefix.
func readSparse(ctx context.Context, a *npy.Archive, prefix string) (shape [2]int, p *pattern, err error) {
	p = &pattern{name: strings.TrimSuffix(a.Name()+": "+strings.TrimSuffix(prefix, "_"), ": ")}
	if shape, err = readShape(ctx, a, prefix+"shape"); err != nil {
		return shape, nil, err
	}
	if p.ptr, err = readInt64s(ctx, a, prefix+"indptr"); err != nil {
		return shape, nil, err
	}
	if p.idx, err = readInt32s(ctx, a, prefix+"indices"); err != nil {
		return shape, nil, err
	}
	if len(p.ptr) != shape[0]+1 {
		return shape, nil, fmt.Errorf("datasets: %s: %d row offsets for %d rows, want %d", p.name, len(p.ptr), shape[0], shape[0]+1)
	}
	return shape, p, p.check(shape[1])
}

// readHeterophilous reads node_features, node_labels, edges (each undirected edge
// once) and {train,val,test}_masks, which have a row for each split. Two classes
// become one binary task, as in the paper.
func readHeterophilous(ctx context.Context, a *npy.Archive, d *Set, split int) error {
	classes, err := readInt32s(ctx, a, "node_labels")
	if err != nil {
		return err
	}
	n := len(classes)
	if d.Features, err = readMatrix(ctx, a, "node_features", n); err != nil {
		return err
	}
	if err := readEdgePairs(ctx, a, "edges", n, d); err != nil {
		return err
	}
	name := a.Name() + ": node_labels"
	if d.Labels, err = classLabels(name, classes); err != nil {
		return err
	}
	if d.Labels.Classes == 2 {
		d.Labels = oneTask(classes)
		d.Notes = append(d.Notes, "two classes taken as one binary task")
	}
	if split < 0 || !a.Has("train_masks") {
		return nil
	}
	return readMasks(ctx, a, d, split)
}

// oneTask turns classes 0 and 1, -1 unknown, into a binary task.
func oneTask(classes []int32) *graph.Labels {
	y := &graph.Labels{Tasks: 1, Multi: make([]float32, len(classes))}
	for i, c := range classes {
		y.Multi[i] = float32(c)
		if c < 0 {
			y.Multi[i] = float32(math.NaN())
		}
	}
	return y
}

// readEdgePairs reads an E×2 matrix of node ids.
func readEdgePairs(ctx context.Context, source arraySource, key string, nodes int, d *Set) error {
	return withArray(source, key, func(r *npy.Reader) error {
		if len(r.Shape) != 2 || r.Shape[1] != 2 {
			return fmt.Errorf("datasets: %s: shape %v, want (edges, 2)", r.Name(), r.Shape)
		}
		ends, err := r.Int32s(ctx)
		if err != nil {
			return err
		}
		if err := checkGraph(r.Name(), nodes, int64(len(ends)/2)); err != nil {
			return err
		}
		b, err := newBuilder(r.Name(), nodes)
		if err != nil {
			return err
		}
		for k := 0; k < len(ends); k += 2 {
			if k%(1<<20) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			if err := b.Add(ends[k], ends[k+1]); err != nil {
				return fmt.Errorf("datasets: %s: row %d: %w", r.Name(), k/2, err)
			}
		}
		d.build(b)
		return nil
	})
}

// readMasks reads one row of the three mask matrices.
func readMasks(ctx context.Context, a *npy.Archive, d *Set, row int) error {
	n := d.nodes()
	d.Split = &Split{}
	for k, part := range d.Split.parts() {
		key := [...]string{"train_masks", "val_masks", "test_masks"}[k]
		err := withArray(a, key, func(r *npy.Reader) error {
			if len(r.Shape) != 2 || r.Shape[1] != n || r.Shape[0] == 0 {
				return fmt.Errorf("datasets: %s: shape %v, want (splits, %d)", r.Name(), r.Shape, n)
			}
			if row >= r.Shape[0] {
				return fmt.Errorf("datasets: %s: split=%d: want an integer in [0, %d], or shares such as 60/20/20", r.Name(), row, r.Shape[0]-1)
			}
			mask, err := r.Int32s(ctx)
			if err != nil {
				return err
			}
			*part = maskedNodes(mask[row*n : (row+1)*n])
			return nil
		})
		if err != nil {
			return err
		}
	}
	d.Notes = append(d.Notes, fmt.Sprintf("split %d of the file", row))
	return nil
}
