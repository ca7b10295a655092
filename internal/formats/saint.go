package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/npy"
)

// SAINT reads GraphSAINT's folders (Zeng et al. 2020, arXiv:1907.04931):
// adj_full.npz, a SciPy CSR matrix, feats.npy, role.json with the split, and
// class_map.json with a class, or a list of 0 and 1, for each node. Training sees the
// whole graph: adj_train.npz is not read. role.json is read only if o.Split is
// true.
func SAINT(ctx context.Context, dir string, o Options) (*Set, error) {
	file := func(name string) string { return filepath.Join(dir, name) }
	d := &Set{Direction: o.Direction}
	if err := readSciPyGraph(ctx, file("adj_full.npz"), d, o); err != nil {
		return nil, err
	}
	n := d.nodes()
	var err error
	if exists(file("feats.npy")) {
		if d.Features, err = readMatrix(ctx, folder(dir), "feats", n); err != nil {
			return nil, err
		}
	}
	if !exists(file("class_map.json")) {
		return d, nil
	}
	if d.Labels, err = readClassMap(ctx, file("class_map.json"), n, new(nodeIDs).key); err != nil {
		return nil, err
	}
	d.noteNames()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Split {
		err = readRoles(ctx, file("role.json"), d)
	}
	return d, err
}

// readSciPyGraph reads a matrix written by scipy.sparse.save_npz, in CSR or COO form.
func readSciPyGraph(ctx context.Context, path string, d *Set, o Options) error {
	a, err := npy.OpenArchive(path)
	if err != nil {
		return err
	}
	defer a.Close()
	var p *pattern
	var shape [2]int
	if a.Has("row") {
		shape, p, err = readCoordinates(ctx, a, d, o)
	} else if shape, p, err = readSparse(ctx, a, ""); err == nil {
		p.val, err = sparseWeights(ctx, a, "data", len(p.idx), d, o)
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
func readCoordinates(ctx context.Context, a *npy.Archive, d *Set, o Options) (shape [2]int, p *pattern, err error) {
	if shape, err = readShape(ctx, a, "shape"); err != nil {
		return shape, nil, err
	}
	rows, err := readInt32s(ctx, a, "row")
	if err != nil {
		return shape, nil, err
	}
	cols, err := readInt32s(ctx, a, "col")
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
	// Far more rows than entries would claim memory for nothing.
	if shape[0] > 1<<20+64*len(rows) {
		return shape, nil, fmt.Errorf("datasets: %s: %d rows for %d entries", p.name, shape[0], len(rows))
	}
	if err := checkGraph(p.name, shape[0], int64(len(rows))); err != nil {
		return shape, nil, err
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
	weights, err := sparseWeights(ctx, a, "data", len(cols), d, o)
	if err != nil {
		return shape, nil, err
	}
	if weights != nil {
		p.val = make([]float32, len(cols))
	}
	for k, i := range rows {
		p.idx[next[i]] = cols[k]
		if weights != nil {
			p.val[next[i]] = weights[k]
		}
		next[i]++
	}
	return shape, p, nil
}

// readRoles reads {"tr": [id, …], "va": […], "te": […]}.
func readRoles(ctx context.Context, path string, d *Set) error {
	var seen [3]bool
	d.Split = &Split{}
	return eachMember(ctx, path, func(key string, value *json.Decoder) error {
		part := slices.Index([]string{"tr", "va", "te"}, key)
		if part < 0 {
			return fmt.Errorf("key %.40q, want tr, va or te", key)
		}
		if err := once(&seen[part], key); err != nil {
			return err
		}
		to := d.Split.parts()[part]
		return elements(value, func(k int) error {
			id, err := decodeInt32(value)
			if err != nil {
				return fmt.Errorf("%s: element %d: %w", key, k, err)
			}
			if id < 0 || int(id) >= d.nodes() {
				return fmt.Errorf("%s: element %d is node %d, outside [0, %d)", key, k, id, d.nodes())
			}
			if k >= d.nodes() {
				return fmt.Errorf("%s: more than the %d nodes", key, d.nodes())
			}
			*to = append(*to, id)
			return nil
		})
	})
}

// readClassMap reads {"id": class} or {"id": [0, 1, …]} for n nodes; classes are numbers, or
// all names. The function node returns the node of an id, or a negative number to skip it.
func readClassMap(ctx context.Context, path string, n int, node func(key string) (int32, error)) (*graph.Labels, error) {
	m := classMap{path: path, nodes: n}
	seen := make([]bool, n)
	err := eachMember(ctx, path, func(key string, d *json.Decoder) error {
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
		if err := once(&seen[i], key); err != nil {
			return fmt.Errorf("node %w", err)
		}
		if err := m.read(int(i), d); err != nil {
			return fmt.Errorf("node %.40q: %w", key, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case m.names != nil:
		return m.names.namedLabels(n)
	case m.labels == nil:
		return nil, fmt.Errorf("datasets: %s: no labels", path)
	case m.labels.Multi != nil:
		return taskLabels(path, m.labels.Multi, m.labels.Tasks)
	}
	return m.labels, nil
}

// classMap collects the values of a class map. The first value decides between classes
// and tasks.
type classMap struct {
	path   string
	nodes  int
	labels *graph.Labels
	names  *nodeLabels // classes given by name; nil: there are none
	tasks  []float32   // of one node
}

// read reads the label of node i.
func (m *classMap) read(i int, d *json.Decoder) error {
	var value json.RawMessage
	if err := d.Decode(&value); err != nil {
		return err
	}
	if value[0] == '[' && m.names == nil {
		return m.readTasks(i, value[1:len(value)-1])
	}
	var name string
	if value[0] == '"' && json.Unmarshal(value, &name) == nil {
		if m.labels != nil {
			return fmt.Errorf("%s where a number, or a list, should be, as before", quoteField(value))
		}
		if m.names == nil {
			m.names = newNodeLabels(m.path)
		}
		return m.names.add(int32(i), parseCategory(name))
	}
	class, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return fmt.Errorf("%s where a class, or a list, should be", quoteField(value))
	}
	if m.names != nil {
		return fmt.Errorf("%s where a name should be, as before", quoteField(value))
	}
	return m.setClass(i, class)
}

func (m *classMap) setClass(i int, class float64) error {
	if m.labels == nil {
		m.labels = &graph.Labels{Class: slices.Repeat([]int32{-1}, m.nodes)}
	}
	y := m.labels
	if y.Class == nil || !(class >= 0 && class < 1<<16) || class != math.Trunc(class) {
		return fmt.Errorf("class %v where a list, or a class from 0, should be", class)
	}
	y.Class[i], y.Classes = int32(class), max(y.Classes, int(class)+1)
	return nil
}

// readTasks reads the elements of a list of valid JSON. It splits the list itself,
// since a decoder takes null for 0.
func (m *classMap) readTasks(i int, list []byte) error {
	m.tasks = m.tasks[:0]
	if len(bytes.TrimSpace(list)) > 0 {
		for field := range bytes.SplitSeq(list, []byte{','}) {
			field = bytes.TrimSpace(field)
			v, err := strconv.ParseFloat(string(field), 32)
			if err != nil {
				return fmt.Errorf("task %d: %s where a number should be", len(m.tasks), quoteField(field))
			}
			m.tasks = append(m.tasks, float32(v))
		}
	}
	tasks := len(m.tasks)
	if m.labels == nil && tasks > 0 {
		if err := plausible(m.path, float64(m.nodes)*float64(tasks)); err != nil {
			return err
		}
		values, err := zeros(m.path+": labels", m.nodes, tasks)
		if err != nil {
			return err
		}
		unknown := float32(math.NaN())
		for k := range values {
			values[k] = unknown
		}
		m.labels = &graph.Labels{Tasks: tasks, Multi: values}
	}
	if y := m.labels; y == nil || tasks != y.Tasks || tasks == 0 {
		return fmt.Errorf("%d labels, unlike the node before it", tasks)
	}
	copy(m.labels.Multi[i*tasks:], m.tasks)
	return nil
}
