package formats

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// NPYFolder reads a folder of NumPy files, of a graph of N nodes:
//
//	indptr, indices     rows of the adjacency matrix: N+1 offsets, and columns
//	feat                (N, features); or feat.npz, a SciPy CSR matrix
//	labels              (N) classes, by number or name; or (N, tasks)
//	data                weights of the edges, may be missing
//	names               (N) ids of the nodes, may be missing
//	classes             names of the classes or tasks that labels numbers, may be missing
//	train, valid, test  numbers or names of nodes, or masks of N booleans
//
// The split is read if o.Split is true. If all three of its files are missing, the set has no
// split. With noEdges the nodes are the rows of feat.npy, without edges: indptr, indices and
// data must be missing.
func NPYFolder(ctx context.Context, path string, o Options, noEdges bool) (*Set, error) {
	dir := folder(path)
	d := &Set{Direction: o.Direction}
	p := pattern{name: path, files: dir.path}
	var err error
	if noEdges {
		err = dir.withoutEdges(ctx, &p, d)
	} else {
		err = dir.readEdges(ctx, &p)
	}
	if err != nil {
		return nil, err
	}
	if err := p.adjacency(ctx, d); err != nil {
		return nil, err
	}
	switch sparse := filepath.Join(path, "feat.npz"); {
	case exists(sparse) && exists(dir.path("feat")):
		return nil, fmt.Errorf("datasets: %s: features in feat.npy and in feat.npz: remove one of them", path)
	case exists(sparse):
		if d.Features, err = readSparseFile(ctx, sparse, d.nodes()); err != nil {
			return nil, err
		}
	case d.Features == nil && exists(dir.path("feat")):
		if d.Features, err = readMatrix(ctx, dir, "feat", d.nodes()); err != nil {
			return nil, err
		}
	}
	if exists(dir.path("names")) {
		if d.NodeNames, err = readNodeNames(ctx, dir, "names", d.nodes()); err != nil {
			return nil, err
		}
	}
	if exists(dir.path("labels")) {
		if d.Labels, err = readLabels(ctx, dir, "labels", d.nodes()); err != nil {
			return nil, err
		}
		d.noteNames()
		if exists(dir.path("classes")) {
			if err = dir.nameClasses(ctx, d.Labels); err != nil {
				return nil, err
			}
		}
	}
	if o.Split && d.Labels != nil {
		err = dir.readSplit(ctx, d)
	}
	return d, err
}

// readEdges reads the rows of the adjacency matrix.
func (dir folder) readEdges(ctx context.Context, p *pattern) (err error) {
	if exists(dir.path("feat")) && !exists(dir.path("indptr")) && !exists(dir.path("indices")) {
		return fmt.Errorf("datasets: %s: no graph: indptr.npy and indices.npy are missing; ?edges=none reads features without a graph", p.name)
	}
	if p.ptr, err = readInt64s(ctx, dir, "indptr"); err != nil {
		return err
	}
	if p.idx, err = readInt32s(ctx, dir, "indices"); err != nil {
		return err
	}
	if exists(dir.path("data")) {
		p.val, err = readWeights(ctx, dir, "data", len(p.idx))
	}
	return err
}

// withoutEdges reads the features, whose rows are the nodes, and makes empty rows of the
// adjacency matrix.
func (dir folder) withoutEdges(ctx context.Context, p *pattern, d *Set) (err error) {
	for _, key := range []string{"indptr", "indices", "data"} {
		if exists(dir.path(key)) {
			return fmt.Errorf("datasets: %s: edges=none, but the folder has %s.npy", p.name, key)
		}
	}
	if sparse := filepath.Join(p.name, "feat.npz"); exists(sparse) && !exists(dir.path("feat")) {
		return fmt.Errorf("datasets: %s: edges=none needs feat.npy, not feat.npz", p.name)
	}
	if d.Features, err = readMatrix(ctx, dir, "feat", -1); err != nil {
		return err
	}
	p.ptr = make([]int64, d.Features.Rows+1)
	return nil
}

// readWeights reads as many positive finite weights as there are indices. It returns nil
// if all are 1.
func readWeights(ctx context.Context, source arraySource, key string, indices int) (weights []float32, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		if weights, err = r.Float32s(ctx); err != nil {
			return err
		}
		if len(weights) != indices {
			return fmt.Errorf("datasets: %s: %d weights for %d indices", r.Name(), len(weights), indices)
		}
		for k, w := range weights {
			if !(w > 0) || w > math.MaxFloat32 {
				return fmt.Errorf("datasets: %s: data[%d] is %v, want positive and finite", r.Name(), k, w)
			}
		}
		return nil
	})
	if !slices.ContainsFunc(weights, func(w float32) bool { return w != 1 }) {
		weights = nil
	}
	return weights, err
}

// nameClasses reads the names of the classes or tasks. There may be classes that no node
// has.
func (dir folder) nameClasses(ctx context.Context, y *graph.Labels) error {
	return withArray(dir, "classes", func(r *npy.Reader) error {
		if err := vector(r); err != nil {
			return err
		}
		count := r.Shape[0]
		switch {
		case y.Names != nil:
			return fmt.Errorf("datasets: %s: labels.npy holds names already", r.Name())
		case count < y.Outputs() || y.Tasks > 0 && count != y.Tasks || count > 1<<20:
			return fmt.Errorf("datasets: %s: %d names for %d classes or tasks", r.Name(), count, y.Outputs())
		case y.Tasks == 0:
			y.Classes = count
		}
		known := make(map[string]int, count)
		return r.EachText(ctx, func(element []byte) error {
			name := string(element)
			if first, again := known[name]; again && y.Tasks == 0 {
				return fmt.Errorf("datasets: %s: the classes %d and %d have the same name, %.40q", r.Name(), first, len(y.Names), name)
			}
			known[name] = len(y.Names)
			y.Names = append(y.Names, name)
			return nil
		})
	})
}

// readSplit reads the three id files, unless all are missing.
func (dir folder) readSplit(ctx context.Context, d *Set) error {
	s := &Split{}
	missing := 0
	for _, name := range partNames {
		if _, err := os.Stat(dir.path(name)); errors.Is(err, fs.ErrNotExist) {
			missing++
		}
	}
	if missing == len(partNames) {
		return nil
	}
	for k, part := range s.parts() {
		var err error
		if *part, err = readIDs(ctx, dir, partNames[k], d.nodes(), d.NodeNames); err != nil {
			return err
		}
	}
	d.Split = s
	return nil
}
