package graph

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// rowRange is the number of rows that a processor takes at a time.
const rowRange = 4096

// Builder collects edges and builds the adjacency matrix of an undirected simple
// graph: symmetric, without duplicates and self-loops. Of several edges between two
// nodes it keeps the first one and its weight.
//
// Make one with NewBuilder. A Builder is not safe for concurrent use.
type Builder struct {
	nodes    int
	weighted bool
	chunks   [][]Edge // all full but the last
	weights  [][]float32
	degree   []int64 // degree[i+1] is the degree of node i, duplicates included; nil before the first edge
	report   Report  // Given and SelfLoops

	spilled string       // folder of the files of Spill; "": none
	free    func() error // of the edges' file
}

// Edge is an edge between two nodes, in either direction.
type Edge struct{ U, V int32 }

const builderChunk = 1 << 18

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
func (b *Builder) Add(u, v int32) error { return b.AddWeighted(u, v, 1) }

// AddEdges calls Add for each edge in order, and stops at the first error. It does
// not keep the slice.
func (b *Builder) AddEdges(edges []Edge) error {
	for len(edges) > 0 {
		last := b.room()
		part := edges[:min(len(edges), cap(b.chunks[last])-len(b.chunks[last]))]
		n := uint32(b.nodes)
		for k, e := range part {
			if uint32(e.U) >= n || uint32(e.V) >= n {
				part = part[:k]
				b.append(last, part)
				return b.outside(e)
			}
		}
		b.append(last, part)
		edges = edges[len(part):]
	}
	return nil
}

// append adds checked edges of weight 1 to a chunk that has room for them.
func (b *Builder) append(chunk int, edges []Edge) {
	b.chunks[chunk] = append(b.chunks[chunk], edges...)
	for _, e := range edges {
		b.count(e)
	}
	if b.weighted {
		for range edges {
			b.weights[chunk] = append(b.weights[chunk], 1)
		}
	}
}

// count adds an edge to the report and to the degrees.
func (b *Builder) count(e Edge) {
	b.report.Given++
	if e.U == e.V {
		b.report.SelfLoops++
		return
	}
	b.degree[e.U+1]++
	b.degree[e.V+1]++
}

// room returns the number of the last chunk, after adding a chunk if that is full.
func (b *Builder) room() int {
	if b.degree == nil {
		b.degree = make([]int64, b.nodes+1)
	}
	last := len(b.chunks) - 1
	if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
		b.chunks = append(b.chunks, make([]Edge, 0, builderChunk))
		if b.weighted {
			b.weights = append(b.weights, make([]float32, 0, builderChunk))
		}
		last++
	}
	return last
}

func (b *Builder) outside(e Edge) error {
	return fmt.Errorf("graph: edge (%d, %d) outside [0, %d): %w", e.U, e.V, b.nodes, ErrInvalid)
}

// AddWeighted adds the edge between u and v with a positive finite weight. The
// error wraps ErrInvalid if a node is outside [0, n) or the weight is not positive
// and finite. Cost: O(1). Memory: 8 bytes per node and 8 per edge, or 12 per edge
// once a weight differs from 1.
func (b *Builder) AddWeighted(u, v int32, weight float32) error {
	e := Edge{u, v}
	if uint(u) >= uint(b.nodes) || uint(v) >= uint(b.nodes) {
		return b.outside(e)
	}
	if !(weight > 0) || !finite(weight) {
		return fmt.Errorf("graph: edge (%d, %d) has weight %v, want positive and finite: %w", u, v, weight, ErrInvalid)
	}
	if weight != 1 && !b.weighted {
		b.weighted = true
		for _, c := range b.chunks {
			b.weights = append(b.weights, ones(len(c), cap(c)))
		}
	}
	last := b.room()
	b.chunks[last] = append(b.chunks[last], e)
	b.count(e)
	if b.weighted {
		b.weights[last] = append(b.weights[last], weight)
	}
	return nil
}

func ones(n, capacity int) []float32 {
	s := make([]float32, n, capacity)
	for i := range s {
		s[i] = 1
	}
	return s
}

// Build returns the adjacency matrix and empties the builder. The columns of a row
// increase strictly; Val is nil if all weights are 1. Cost: O(E log(max degree))
// time on all cores. Memory at the peak: 8 bytes per edge more than the builder's,
// 16 with weights.
func (b *Builder) Build() (*CSR, Report) { return b.build(false) }

// BuildDirected is Build for a directed graph: the columns of row u are the nodes v of the
// edges added as (u, v). Report.Edges counts directed edges.
func (b *Builder) BuildDirected() (*CSR, Report) { return b.build(true) }

func (b *Builder) build(directed bool) (*CSR, Report) {
	m := &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: b.degree}
	if m.Ptr == nil || directed {
		m.Ptr = make([]int64, b.nodes+1)
	}
	if directed { // degree has both directions
		for _, edges := range b.chunks {
			for _, e := range edges {
				if e.U != e.V {
					m.Ptr[e.U+1]++
				}
			}
		}
	}
	sumDegrees(m.Ptr)
	m.Idx = make([]int32, m.Ptr[b.nodes])
	if b.weighted {
		m.Val = make([]float32, len(m.Idx))
	}
	next := slices.Clone(m.Ptr[:b.nodes])
	b.scatter(m, next, 0, directed)
	report := b.report
	*b = Builder{nodes: b.nodes}
	m.sortRows(next)
	edges := m.NNZ()
	if !directed {
		edges /= 2
	}
	report.keep(edges)
	return m, report
}

// sumDegrees turns degrees into row offsets. degrees[i+1] is the degree of row i.
func sumDegrees(degrees []int64) {
	for i := 1; i < len(degrees); i++ {
		degrees[i] += degrees[i-1]
	}
}

// keep sets the number of edges kept.
func (r *Report) keep(edges int64) {
	r.Edges, r.Duplicates = edges, r.Given-r.SelfLoops-edges
}

// sortRows sorts the columns of each row and keeps the first of equal ones. scratch has
// an element for each row.
func (m *CSR) sortRows(scratch []int64) {
	kept := scratch // kept[i] is the number of distinct columns of row i
	parallel.For(m.Rows, rowRange, func(lo, hi int) {
		var order []rowEntry
		for i := lo; i < hi; i++ {
			if m.Val == nil {
				kept[i] = int64(sortUnique(m.Row(i)))
			} else {
				kept[i] = int64(sortUniqueWeighted(m.Row(i), m.RowValues(i), &order))
			}
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

// scatter puts every edge into its two rows, or only the first one if directed; row i of m is row base+i of the graph, and
// next[i] is the position of its next entry. Each stripe of rows has a goroutine, which reads all edges and
// writes the entries of its rows. The entries of a row are therefore in the order of
// the edges for any number of stripes, and each goroutine's random writes stay within
// a part of the matrix.
func (b *Builder) scatter(m *CSR, next []int64, base int, directed bool) {
	stripes := min(runtime.GOMAXPROCS(0), 16)
	if b.report.Given <= builderChunk {
		stripes = 1
	}
	var group sync.WaitGroup
	lo := 0
	for s := range stripes {
		share := m.Ptr[m.Rows] / int64(stripes) * int64(s+1)
		hi := sort.Search(m.Rows, func(i int) bool { return m.Ptr[i] >= share })
		if s == stripes-1 {
			hi = m.Rows
		}
		from := lo
		group.Go(func() { b.scatterRows(m, next, base, from, hi, directed) })
		lo = max(lo, hi)
	}
	group.Wait()
}

// scatterRows is scatter for the entries of rows lo to hi of m.
func (b *Builder) scatterRows(m *CSR, next []int64, base, lo, hi int, directed bool) {
	offset, first, rows := int32(base), int32(base+lo), uint32(max(hi-lo, 0))
	for c, edges := range b.chunks {
		var weights []float32
		if b.weighted {
			weights = b.weights[c]
		}
		put := func(k int, row, column int32) {
			at := next[row-offset]
			next[row-offset]++
			m.Idx[at] = column
			if weights != nil {
				m.Val[at] = weights[k]
			}
		}
		for k, e := range edges {
			if e.U == e.V {
				continue
			}
			if uint32(e.U-first) < rows {
				put(k, e.U, e.V)
			}
			if !directed && uint32(e.V-first) < rows {
				put(k, e.V, e.U)
			}
		}
	}
}

func sortUnique(row []int32) int {
	slices.Sort(row)
	return len(slices.Compact(row))
}

type rowEntry struct {
	col   int32
	value float32
}

// sortUniqueWeighted keeps the first of the entries with equal columns. Both rows of
// a pair of nodes hold its edges in the same order, so the result is symmetric.
func sortUniqueWeighted(row []int32, values []float32, scratch *[]rowEntry) int {
	entries := (*scratch)[:0]
	for k, j := range row {
		entries = append(entries, rowEntry{j, values[k]})
	}
	*scratch = entries
	slices.SortStableFunc(entries, func(a, b rowEntry) int { return cmp.Compare(a.col, b.col) })
	kept := 0
	for k, e := range entries {
		if k > 0 && entries[k-1].col == e.col {
			continue
		}
		row[kept], values[kept] = e.col, e.value
		kept++
	}
	return kept
}
