package formats

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/npy"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Arrays and sparse matrices of NumPy-based layouts: read from a file or a member of
// an archive, checked, and turned into the parts of a Set.

// arraySource opens a named array: a member of an archive or a file of a folder.
type arraySource interface {
	Open(key string) (*npy.Reader, error)
}

type folder string

func (dir folder) path(key string) string { return filepath.Join(string(dir), key+".npy") }

func (dir folder) Open(key string) (*npy.Reader, error) { return npy.Open(dir.path(key)) }

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
// rows.
func readMatrix(ctx context.Context, source arraySource, key string, rows int) (x *graph.Features, err error) {
	err = withArray(source, key, func(r *npy.Reader) error {
		if len(r.Shape) != 2 || r.Shape[1] == 0 {
			return fmt.Errorf("datasets: %s: shape %v, want (nodes, features)", r.Name(), r.Shape)
		}
		if r.Shape[0] != rows {
			return fmt.Errorf("datasets: %s: %d rows for %d nodes", r.Name(), r.Shape[0], rows)
		}
		data, err := r.Float32s(ctx)
		if err != nil {
			return err
		}
		x = &graph.Features{Rows: rows, Cols: r.Shape[1], Data: data}
		return checkFinite(r.Name(), x)
	})
	return x, err
}

// Approximate memory of a graph while it is read and built. An edge: the edge, a copy
// in the builder, and both directions in the matrix. A node: its offset, the
// builder's offset, its label and its entry in the split.
const (
	edgeBytes = 24
	nodeBytes = 40
)

// checkGraph reports a graph that does not fit in memory while it is built.
func checkGraph(what string, nodes int, edges int64) error {
	what = fmt.Sprintf("datasets: %s: a graph of %d nodes", what, nodes)
	return memory.Check(what, nodeBytes*int64(nodes)+edgeBytes*edges)
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

// pattern is a sparse matrix as a file gives it: row i has the columns
// idx[ptr[i]:ptr[i+1]]. It is not valid before check.
type pattern struct {
	name  string                  // of the file, for errors
	files func(key string) string // the files of indptr and indices; nil: both in one
	ptr   []int64
	idx   []int32
	val   []float32 // of the entries, positive and finite; nil: all 1
}

// file returns the name of the file of indptr or indices.
func (p *pattern) file(key string) string {
	if p.files == nil {
		return p.name
	}
	return p.files(key)
}

// check reports the first offset or column that is out of range.
func (p *pattern) check(cols int) error {
	if len(p.ptr) == 0 || p.ptr[0] != 0 {
		return fmt.Errorf("datasets: %s: indptr must start with 0", p.file("indptr"))
	}
	for i := range len(p.ptr) - 1 {
		if p.ptr[i+1] < p.ptr[i] {
			return fmt.Errorf("datasets: %s: indptr[%d] is %d, below the %d before it", p.file("indptr"), i+1, p.ptr[i+1], p.ptr[i])
		}
	}
	if last := p.ptr[len(p.ptr)-1]; last != int64(len(p.idx)) {
		return fmt.Errorf("datasets: %s: indptr ends with %d, but there are %d indices", p.file("indptr"), last, len(p.idx))
	}
	for k, j := range p.idx {
		if j < 0 || int(j) >= cols {
			return fmt.Errorf("datasets: %s: indices[%d] is %d, outside [0, %d)", p.file("indices"), k, j, cols)
		}
	}
	return nil
}

// adjacency checks p and makes it d's graph, without self-loops and repeated entries.
// If p has both directions of every edge, its arrays become the graph's; otherwise a
// builder makes the graph. p cannot be used afterwards.
func (p *pattern) adjacency(ctx context.Context, d *Set) error {
	n := max(len(p.ptr)-1, 0)
	if n > math.MaxInt32 {
		return fmt.Errorf("datasets: %s: %d nodes, at most %d are read", p.name, n, math.MaxInt32)
	}
	if err := p.check(n); err != nil {
		return err
	}
	if p.val != nil {
		return p.weightedAdjacency(ctx, d)
	}
	given := p.ptr[n]
	loops, repeats, err := p.tidy(ctx)
	if err != nil {
		return err
	}
	if d.Direction != Undirected {
		d.Graph = &graph.CSR{Rows: n, Cols: n, Ptr: p.ptr, Idx: p.idx}
		d.Report = graph.Report{Given: given, SelfLoops: loops, Edges: p.ptr[n], Duplicates: repeats}
		d.direct()
		return nil
	}
	symmetric, err := parallel.Symmetric(ctx, p.ptr, p.idx)
	if err != nil {
		return err
	}
	if symmetric {
		d.Graph = &graph.CSR{Rows: n, Cols: n, Ptr: p.ptr, Idx: p.idx}
		d.Report = graph.Report{Given: given, SelfLoops: loops, Edges: p.ptr[n] / 2, Duplicates: repeats + p.ptr[n]/2}
		if loops+repeats > 0 {
			d.Notes = append(d.Notes, "repeated edges and self-loops dropped")
		}
		return nil
	}
	if err := checkGraph(p.name, n, p.ptr[n]); err != nil {
		return err
	}
	b, err := newBuilder(p.name, n)
	if err != nil {
		return err
	}
	for i := range n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, j := range p.idx[p.ptr[i]:p.ptr[i+1]] {
			if err := b.Add(int32(i), j); err != nil {
				return fmt.Errorf("datasets: %s: %w", p.name, err)
			}
		}
	}
	p.ptr, p.idx = nil, nil
	d.build(b)
	d.Report.Given += loops + repeats
	d.Report.SelfLoops += loops
	d.Report.Duplicates += repeats
	return nil
}

// weightedAdjacency is adjacency for a pattern with values, which has passed check. Of
// several weights of a pair of nodes, in either direction, the first one counts, as in an
// edge list.
func (p *pattern) weightedAdjacency(ctx context.Context, d *Set) error {
	n := len(p.ptr) - 1
	const weight = 16 // bytes an edge in the builder and the matrix
	if err := checkGraph(p.name, n, p.ptr[n]*(edgeBytes+weight)/edgeBytes); err != nil {
		return err
	}
	b, err := newBuilder(p.name, n)
	if err != nil {
		return err
	}
	for i := range n {
		if i%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for k := p.ptr[i]; k < p.ptr[i+1]; k++ {
			if err := b.AddWeighted(int32(i), p.idx[k], p.val[k]); err != nil {
				return fmt.Errorf("datasets: %s: data[%d]: %w", p.file("data"), k, err)
			}
		}
	}
	d.build(b)
	other := 0
	for i := range n {
		if d.Direction == In {
			break // rows of the graph are columns of p
		}
		row, values := d.Graph.Row(i), d.Graph.RowValues(i)
		for k := p.ptr[i]; k < p.ptr[i+1]; k++ {
			at, there := slices.BinarySearch(row, p.idx[k])
			if there && values != nil && values[at] != p.val[k] {
				other++
			}
		}
	}
	d.Notes = append(d.Notes, "edges weighted by "+filepath.Base(p.file("data")))
	if other > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("%d entries have another weight than the first entry of their pair of nodes, which counts", other))
	}
	return nil
}

// tidy sorts the columns of every row and drops self-loops and repeated entries. It
// returns how many it dropped.
func (p *pattern) tidy(ctx context.Context) (loops, repeats int64, err error) {
	n := len(p.ptr) - 1
	const rows = 4096
	kept := make([]int32, n)
	looped := make([]int32, n)
	err = parallel.Chunks(ctx, (n+rows-1)/rows, func(chunk int) error {
		for i := chunk * rows; i < min((chunk+1)*rows, n); i++ {
			row := p.idx[p.ptr[i]:p.ptr[i+1]]
			if !slices.IsSorted(row) {
				slices.Sort(row)
			}
			from, _ := slices.BinarySearch(row, int32(i))
			to, _ := slices.BinarySearch(row, int32(i)+1)
			looped[i] = int32(to - from)
			kept[i] = int32(len(slices.Compact(slices.Delete(row, from, to))))
		}
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	at := int64(0)
	for i := range n {
		from, count := p.ptr[i], int64(kept[i])
		loops += int64(looped[i])
		repeats += p.ptr[i+1] - from - count - int64(looped[i])
		copy(p.idx[at:], p.idx[from:from+count])
		p.ptr[i] = at
		at += count
	}
	p.ptr[n] = at
	p.idx = p.idx[:at]
	return loops, repeats, nil
}

func newBuilder(name string, nodes int) (*graph.Builder, error) {
	b, err := graph.NewBuilder(nodes)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", name, err)
	}
	return b, nil
}

func (d *Set) build(b *graph.Builder) {
	if d.Direction != Undirected {
		d.Graph, d.Report = b.BuildDirected()
		d.direct()
		return
	}
	d.Graph, d.Report = b.Build()
	d.Notes = append(d.Notes, Symmetrised)
}

// direct turns the graph, whose rows are the targets of edges, in the set's direction.
func (d *Set) direct() {
	text := "graph directed (directed=out): a node reads the targets of its edges"
	if d.Direction == In {
		d.Graph = d.Graph.Transpose()
		text = "graph directed (directed=in): a node reads the sources of the edges to it"
	}
	d.Notes = append(d.Notes, text+"; repeated edges and self-loops dropped")
}
