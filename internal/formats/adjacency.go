package formats

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

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

func addArcs(b *graph.Builder, path string, arcs []graph.Edge) error {
	if err := b.AddEdges(arcs); err != nil {
		return fmt.Errorf("datasets: %s: %w", path, err)
	}
	return nil
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

// Symmetrised is the note about a graph that was made undirected.
const Symmetrised = "graph symmetrised, repeated edges and self-loops dropped"
