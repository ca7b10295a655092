package datasets

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// saintScheme reads GraphSAINT's folders (Zeng et al. 2020, arXiv:1907.04931):
// adj_full.npz, a SciPy CSR matrix, feats.npy, role.json with the split and
// class_map.json with a class, or a list of 0 and 1, a node. Training sees the
// whole graph: adj_train.npz is not read. Features are standardised over the
// training nodes, as GraphSAINT's loader does; normalize=none leaves them.
func saintScheme() Scheme {
	return Scheme{
		Name: "saint", Path: "DIR",
		Summary: "GraphSAINT's adj_full.npz, feats.npy, role.json, class_map.json; features standardised",
		Keys:    fileKeys(),
		Open:    openSAINT,
	}
}

func openSAINT(ctx context.Context, spec *Spec) (*Data, error) {
	file := func(name string) string { return filepath.Join(spec.Path, name) }
	d := &Data{Metric: MicroF1}
	if err := readSciPyGraph(ctx, file("adj_full.npz"), d); err != nil {
		return nil, err
	}
	n := d.Nodes()
	var err error
	if d.Features, err = readMatrix(folder(spec.Path), "feats", n); err != nil {
		return nil, err
	}
	if d.Labels, err = readClassMap(file("class_map.json"), n, nodeKey); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, err := ownSplit(spec)
	if err == nil && own {
		err = readRoles(file("role.json"), d)
	} else if err == nil {
		err = splitFromSpec(d, spec)
	}
	if err != nil {
		return nil, err
	}
	return d, finish(d, spec, "standardize")
}

// readSciPyGraph reads a matrix that scipy.sparse.save_npz wrote, in CSR or COO
// form.
func readSciPyGraph(ctx context.Context, path string, d *Data) error {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return err
	}
	defer a.Close()
	var p *pattern
	var shape [2]int
	if a.Has("row") {
		shape, p, err = readCoordinates(a)
	} else {
		shape, p, err = readSparse(a, "")
	}
	if err != nil {
		return err
	}
	if shape[0] != shape[1] {
		return fmt.Errorf("datasets: %s: adjacency matrix is %d×%d, want square", path, shape[0], shape[1])
	}
	return p.adjacency(ctx, d)
}

// readCoordinates reads a SciPy COO matrix.
func readCoordinates(a *npy.Archive) (shape [2]int, p *pattern, err error) {
	if shape, err = readShape(a, "shape"); err != nil {
		return shape, nil, err
	}
	rows, err := readInt32s(a, "row")
	if err != nil {
		return shape, nil, err
	}
	cols, err := readInt32s(a, "col")
	if err != nil {
		return shape, nil, err
	}
	p = &pattern{name: a.Name()}
	if len(rows) != len(cols) {
		return shape, nil, fmt.Errorf("datasets: %s: %d rows and %d columns", p.name, len(rows), len(cols))
	}
	if err := checkIDs(a.Name()+": row", rows, shape[0]); err != nil {
		return shape, nil, err
	}
	// A shape beyond all entries would claim memory for rows that are not there.
	if shape[0] > 1<<20+64*len(rows) {
		return shape, nil, fmt.Errorf("datasets: %s: %d rows for %d entries", p.name, shape[0], len(rows))
	}
	p.ptr = make([]int64, shape[0]+1)
	for _, i := range rows {
		p.ptr[i+1]++
	}
	for i := range shape[0] {
		p.ptr[i+1] += p.ptr[i]
	}
	next := slices.Clone(p.ptr[:shape[0]])
	p.idx = make([]int32, len(cols))
	for k, i := range rows {
		p.idx[next[i]] = cols[k]
		next[i]++
	}
	return shape, p, nil
}

// readRoles reads {"tr": [id, …], "va": […], "te": […]}.
func readRoles(path string, d *Data) error {
	return eachMember(path, func(key string, value *json.Decoder) error {
		var to *[]int32
		switch key {
		case "tr":
			to = &d.Split.Train
		case "va":
			to = &d.Split.Valid
		case "te":
			to = &d.Split.Test
		default:
			return fmt.Errorf("key %.40q, want tr, va or te", key)
		}
		var ids []int32
		if err := value.Decode(&ids); err != nil {
			return err
		}
		for k, id := range ids {
			if id < 0 || int(id) >= d.Nodes() {
				return fmt.Errorf("%s: element %d is node %d, outside [0, %d)", key, k, id, d.Nodes())
			}
		}
		*to = ids
		return nil
	})
}

// readClassMap reads {"id": class} or {"id": [0, 1, …]} for n nodes, ids being
// turned into nodes by node, negative for one to pass over.
func readClassMap(path string, n int, node func(key string) (int32, error)) (*graph.Labels, error) {
	var y *graph.Labels
	unknown := float32(math.NaN())
	seen := make([]bool, n)
	err := eachMember(path, func(key string, d *json.Decoder) error {
		i, err := node(key)
		if err != nil {
			return err
		}
		if i < 0 {
			return skip(d)
		}
		if int(i) >= n {
			return fmt.Errorf("node %d outside [0, %d)", i, n)
		}
		if seen[i] {
			return fmt.Errorf("node %.40q is there twice", key)
		}
		seen[i] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if value[0] != '[' {
			var class int32
			if err := json.Unmarshal(value, &class); err != nil {
				return fmt.Errorf("node %.40q: %w", key, err)
			}
			if y == nil {
				y = &graph.Labels{Class: slices.Repeat([]int32{-1}, n)}
			}
			if y.Class == nil || class < 0 || class >= 1<<16 {
				return fmt.Errorf("node %.40q: class %d where a list, or a class from 0, should be", key, class)
			}
			y.Class[i], y.Classes = class, max(y.Classes, int(class)+1)
			return nil
		}
		var tasks []float32
		if err := json.Unmarshal(value, &tasks); err != nil {
			return fmt.Errorf("node %.40q: %w", key, err)
		}
		if y == nil && len(tasks) > 0 {
			if n > (smallDense+emptiestRows*len(value))/len(tasks) {
				return fmt.Errorf("%d labels for each of %d nodes are too many to hold", len(tasks), n)
			}
			y = &graph.Labels{Tasks: len(tasks), Multi: slices.Repeat([]float32{unknown}, n*len(tasks))}
		}
		if y == nil || len(tasks) != y.Tasks || len(tasks) == 0 {
			return fmt.Errorf("node %.40q: %d labels, unlike the node before it", key, len(tasks))
		}
		copy(y.Multi[int(i)*y.Tasks:], tasks)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if y == nil {
		return nil, fmt.Errorf("datasets: %s: no labels", path)
	}
	if y.Multi != nil {
		return taskLabels(path, y.Multi, y.Tasks)
	}
	return y, nil
}
