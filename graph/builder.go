package graph

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Builder collects edges and builds the adjacency matrix of an undirected simple
// graph: symmetric, without duplicates and self-loops. Of several edges between two
// nodes it keeps the first one and its weight.
//
// Make one with NewBuilder. A Builder is not safe for concurrent use.
type Builder struct {
	nodes    int
	weighted bool
	chunks   []edgeChunk // all full but the last
	u        int32       // the first node of the last edge
	report   Report      // Given and SelfLoops

	spilled string         // folder of the files of Spill
	files   []func() error // that give the files back: of the edges, of the columns
}

// edgeChunk holds edges and their weights; nil weights are all 1.
type edgeChunk struct {
	values  []int32 // v of each edge (u, v); ^u comes first in a chunk, and wherever u changes
	weights []float32
}

// Edge is an edge between two nodes, in either direction.
type Edge struct{ U, V int32 }

const builderChunk = 1 << 19 // values

// Report counts the edges that Build kept and dropped.
type Report struct {
	Given      int64 `json:"given"`      // edges added
	SelfLoops  int64 `json:"self_loops"` // self-loops, dropped
	Duplicates int64 `json:"duplicates"` // edges between two nodes that had one already, in either direction, dropped
	Edges      int64 `json:"edges"`      // undirected edges kept, each counted once
}

// NewBuilder returns a builder of a graph of n nodes. The error wraps
// ErrInvalid if n is negative or more than 2³¹−1.
func NewBuilder(n int) (*Builder, error) {
	if n < 0 || n > math.MaxInt32 {
		return nil, fmt.Errorf("graph: %d nodes outside [0, %d]: %w", n, math.MaxInt32, ErrInvalid)
	}
	return &Builder{nodes: n}, nil
}

// Add adds the edge between u and v, of weight 1. The error wraps ErrInvalid if
// a node is outside [0, n).
func (b *Builder) Add(u, v int32) error { return b.AddEdges([]Edge{{u, v}}) }

// AddEdges calls Add for each edge in order, and stops at the first error. It does
// not keep the slice.
func (b *Builder) AddEdges(edges []Edge) error {
	n := uint32(b.nodes)
	for _, e := range edges {
		if uint32(e.U) >= n || uint32(e.V) >= n {
			return fmt.Errorf("graph: edge (%d, %d) outside [0, %d): %w", e.U, e.V, b.nodes, ErrInvalid)
		}
		c := b.room()
		if len(c.values) == 0 || e.U != b.u {
			c.values = append(c.values, ^e.U)
			b.u = e.U
		}
		if c.values = append(c.values, e.V); c.weights != nil {
			c.weights = append(c.weights, 1)
		}
		b.report.Given++
		if e.U == e.V {
			b.report.SelfLoops++
		}
	}
	return nil
}

// room returns the last chunk. It adds a chunk if the last one has no room for another edge.
func (b *Builder) room() *edgeChunk {
	last := len(b.chunks) - 1
	if last < 0 || len(b.chunks[last].values)+2 > cap(b.chunks[last].values) {
		b.chunks = append(b.chunks, edgeChunk{values: make([]int32, 0, builderChunk)})
		last++
	}
	return &b.chunks[last]
}

// AddWeighted adds the edge between u and v with a positive finite weight. The
// error wraps ErrInvalid if a node is outside [0, n) or the weight is not positive
// and finite. Cost: O(1). Memory: 4 bytes per edge and 4 where the first node changes, and 4 more
// where weights differ from 1.
func (b *Builder) AddWeighted(u, v int32, weight float32) error {
	if !(weight > 0) || !finite(weight) {
		return fmt.Errorf("graph: edge (%d, %d) has weight %v, want positive and finite: %w", u, v, weight, ErrInvalid)
	}
	if err := b.Add(u, v); err != nil || weight == 1 {
		return err
	}
	c := &b.chunks[len(b.chunks)-1]
	if c.weights == nil {
		for _, v := range c.values {
			if v >= 0 {
				c.weights = append(c.weights, 1)
			}
		}
	}
	c.weights[len(c.weights)-1], b.weighted = weight, true
	return nil
}

// Build returns the adjacency matrix and empties the builder. The columns of a row
// increase strictly; Val is nil if all weights are 1. Cost: O(E log(max degree))
// time on all cores. Memory at the peak: 8 bytes per node and 8 per edge more than the builder's,
// 16 with weights.
func (b *Builder) Build() (*CSR, Report) { return b.build(false) }

// BuildDirected is Build for a directed graph: the columns of row u are the nodes v of the
// edges added as (u, v). Report.Edges counts directed edges.
func (b *Builder) BuildDirected() (*CSR, Report) { return b.build(true) }

func (b *Builder) build(directed bool) (*CSR, Report) {
	m := &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: b.offsets(directed)}
	m.Idx = make([]int32, m.Ptr[b.nodes])
	b.fill(m, 0, directed, nil)
	report := b.report
	*b = Builder{nodes: b.nodes}
	report.keep(m.NNZ(), directed)
	return m, report
}

// offsets returns the row offsets of the matrix with duplicates.
func (b *Builder) offsets(directed bool) []int64 {
	ptr := make([]int64, b.nodes+1)
	for _, c := range b.chunks {
		u := int32(0)
		for _, v := range c.values {
			switch {
			case v < 0:
				u = ^v
			case u != v:
				ptr[u+1]++
				if !directed {
					ptr[v+1]++
				}
			}
		}
	}
	for i := range b.nodes {
		ptr[i+1] += ptr[i]
	}
	return ptr
}

// fill fills m, of known Ptr, with the edges of the rows from number base on, in the order of
// columns and without duplicates. It returns scratch, with an element for each row.
func (b *Builder) fill(m *CSR, base int, directed bool, scratch []int64) []int64 {
	m.Idx = resize(m.Idx, int(m.Ptr[m.Rows]))
	if b.weighted {
		m.Val = make([]float32, len(m.Idx))
	}
	scratch = append(scratch[:0], m.Ptr[:m.Rows]...)
	b.scatter(m, scratch, base, directed)
	m.sortRows(scratch)
	return scratch
}

// keep sets the number of edges kept, of so many entries.
func (r *Report) keep(entries int64, directed bool) {
	if r.Edges = entries; !directed {
		r.Edges /= 2
	}
	r.Duplicates = r.Given - r.SelfLoops - r.Edges
}

// sortRows sorts the columns of each row and keeps the first of equal ones. scratch has
// an element for each row.
func (m *CSR) sortRows(scratch []int64) {
	kept := scratch // kept[i] is the number of distinct columns of row i
	parallel.For(m.Rows, rowRange, func(lo, hi int) {
		var order []rowEntry
		for i := lo; i < hi; i++ {
			if m.Val != nil {
				kept[i] = sortWeighted(m.Row(i), m.RowValues(i), &order)
				continue
			}
			slices.Sort(m.Row(i))
			kept[i] = int64(len(slices.Compact(m.Row(i))))
		}
	})
	var at int64
	for i := range m.Rows {
		if from := m.Ptr[i]; from != at {
			copy(m.Idx[at:], m.Idx[from:from+kept[i]])
			if m.Val != nil {
				copy(m.Val[at:], m.Val[from:from+kept[i]])
			}
		}
		m.Ptr[i] = at
		at += kept[i]
	}
	m.Ptr[m.Rows] = at
	m.Idx = m.Idx[:at]
	if m.Val != nil {
		m.Val = m.Val[:at]
	}
}

// scatter puts every edge into its two rows, or only the first one if directed. Row i of m is row
// base+i of the graph, and next[i] is the position of its next entry. Each stripe of rows has a
// goroutine, which reads all edges and writes the entries of its rows. The entries of a row are
// therefore in the order of the edges for any number of stripes, and each goroutine's random
// writes stay within a part of the matrix.
func (b *Builder) scatter(m *CSR, next []int64, base int, directed bool) {
	stripes := min(runtime.GOMAXPROCS(0), 16)
	if b.report.Given <= builderChunk {
		stripes = 1
	}
	first := func(stripe int) int {
		if stripe == stripes {
			return m.Rows
		}
		share := m.Ptr[m.Rows] / int64(stripes) * int64(stripe)
		return sort.Search(m.Rows, func(i int) bool { return m.Ptr[i] >= share })
	}
	parallel.For(stripes, 1, func(lo, hi int) {
		b.scatterRows(m, next, base, first(lo), first(hi), directed)
	})
}

// scatterRows is scatter for the entries of rows lo to hi of m.
func (b *Builder) scatterRows(m *CSR, next []int64, base, lo, hi int, directed bool) {
	offset, first, rows := int32(base), int32(base+lo), uint32(hi-lo)
	for _, c := range b.chunks {
		put := func(k int, row, column int32) {
			at := next[row-offset]
			next[row-offset]++
			m.Idx[at] = column
			if m.Val != nil {
				m.Val[at] = float32(Weight(c.weights, k))
			}
		}
		u, k := int32(0), 0
		for _, v := range c.values {
			if v < 0 {
				u = ^v
				continue
			}
			if u != v && uint32(u-first) < rows {
				put(k, u, v)
			}
			if u != v && !directed && uint32(v-first) < rows {
				put(k, v, u)
			}
			k++
		}
	}
}

type rowEntry struct {
	col   int32
	value float32
}

// sortWeighted sorts a row by columns, and keeps the first of the entries with equal columns. It
// returns the number kept. Both rows of a pair of nodes hold its edges in the same order, so the
// result is symmetric.
func sortWeighted(row []int32, values []float32, scratch *[]rowEntry) int64 {
	entries := (*scratch)[:0]
	for k, j := range row {
		entries = append(entries, rowEntry{j, values[k]})
	}
	slices.SortStableFunc(entries, func(a, b rowEntry) int { return cmp.Compare(a.col, b.col) })
	*scratch = entries
	entries = slices.CompactFunc(entries, func(a, b rowEntry) bool { return a.col == b.col })
	for k, e := range entries {
		row[k], values[k] = e.col, e.value
	}
	return int64(len(entries))
}
