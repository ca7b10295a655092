package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Builder collects edges and builds the adjacency matrix of an undirected simple
// graph: symmetric, without duplicates and self-loops. Of several edges between two
// nodes it keeps the first one and its weight.
//
// Make one with NewBuilder. A Builder is not safe for concurrent use.
type Builder struct {
	nodes    int
	directed bool        // see BuildDirected
	chunks   []edgeChunk // all full but the last

	spilled string         // folder of the files of Spill
	files   []func() error // that give the files back: of the edges, of the columns
}

// edgeChunk holds edges and their weights; nil weights are all 1.
type edgeChunk struct {
	edges   []Edge
	weights []float32
}

// Edge is an edge between two nodes, in either direction.
type Edge struct{ U, V int32 }

const (
	builderChunk = 1 << 18 // edges
	builderPart  = 1 << 28 // bytes of rows that are sorted at a time, or an eighth of all rows
)

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
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last].edges) == cap(b.chunks[last].edges) {
			b.chunks = append(b.chunks, edgeChunk{edges: make([]Edge, 0, builderChunk)})
			last++
		}
		c := &b.chunks[last]
		if c.edges = append(c.edges, e); c.weights != nil {
			c.weights = append(c.weights, 1)
		}
	}
	return nil
}

// AddWeighted adds the edge between u and v with a positive finite weight. The
// error wraps ErrInvalid if a node is outside [0, n) or the weight is not positive
// and finite. Cost: O(1). Memory: 8 bytes per edge, and 4 more where weights differ from 1.
func (b *Builder) AddWeighted(u, v int32, weight float32) error {
	if !(weight > 0) || !finite(weight) {
		return fmt.Errorf("graph: edge (%d, %d) has weight %v, want positive and finite: %w", u, v, weight, ErrInvalid)
	}
	if err := b.Add(u, v); err != nil || weight == 1 {
		return err
	}
	c := &b.chunks[len(b.chunks)-1]
	if c.weights == nil {
		c.weights = slices.Repeat([]float32{1}, len(c.edges))
	}
	c.weights[len(c.weights)-1] = weight
	return nil
}

// Build returns the adjacency matrix and empties the builder. The columns of a row
// increase strictly; Val is nil if all weights are 1. Cost: O(E log(max degree))
// time on all cores. Memory at the peak: 8 bytes per node and 8 per edge more than the builder's,
// 16 with weights, and up to 320 MiB or 2.5 bytes per edge.
func (b *Builder) Build() (*CSR, Report) {
	m, report := b.matrix()
	m.Idx = make([]int32, m.Ptr[b.nodes])
	if slices.ContainsFunc(b.chunks, func(c edgeChunk) bool { return c.weights != nil }) {
		m.Val = make([]float32, len(m.Idx))
	}
	_ = b.fill(context.Background(), m, &report, max(builderPart, m.Ptr[b.nodes]), nil) // the error is the context's
	*b = Builder{nodes: b.nodes}
	return m, report
}

// BuildDirected is Build for a directed graph: the columns of row u are the nodes v of the
// edges added as (u, v). Report.Edges counts directed edges.
func (b *Builder) BuildDirected() (*CSR, Report) {
	b.directed = true
	return b.Build()
}

// matrix returns the matrix without its entries, and a report without the edges kept. The row offsets
// count duplicates.
func (b *Builder) matrix() (*CSR, Report) {
	var r Report
	ptr := make([]int64, b.nodes+1)
	for _, c := range b.chunks {
		r.Given += int64(len(c.edges))
		for _, e := range c.edges {
			if e.U == e.V {
				r.SelfLoops++
				continue
			}
			ptr[e.U+1]++
			if !b.directed {
				ptr[e.V+1]++
			}
		}
	}
	for i := range b.nodes {
		ptr[i+1] += ptr[i]
	}
	return &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: ptr}, r
}

// fill fills a new matrix with rows in the order of columns and without duplicates, and completes its
// report. It sorts rows that take at most bytes at a time, or one row. progress, if not nil, is called
// with the number of entries sorted so far and the number of all. The error is the context's.
func (b *Builder) fill(ctx context.Context, m *CSR, r *Report, bytes int64, progress func(done, all int64)) error {
	all, kept := m.Ptr[m.Rows], int64(0)
	var part []uint64 // the entries of the rows lo to hi: an entry has its column above the bits of its value
	var ends []int64  // of these rows in part
	for lo, hi := 0, 0; lo < m.Rows; lo = hi {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := m.Ptr[lo]
		hi++
		for hi < m.Rows && 8*(m.Ptr[hi+1]-first+int64(hi+1-lo)) <= bytes {
			hi++
		}
		part = resize(part, int(m.Ptr[hi]-first))
		ends = resize(ends, hi-lo)
		for k := range ends {
			ends[k] = m.Ptr[lo+k] - first // no entry is there yet
		}
		// Each stripe of rows has a goroutine, which reads all edges and writes the entries of its rows. The
		// entries of a row are therefore in the order of the edges for any number of stripes, and each
		// goroutine's random writes stay within a part of the matrix.
		stripe := (hi-lo-1)/min(runtime.GOMAXPROCS(0), 16) + 1
		parallel.For(hi-lo, stripe, func(from, to int) { b.scatter(part, ends[from:to], lo+from) })
		parallel.For(hi-lo, rowRange, func(from, to int) {
			for k := from; k < to; k++ {
				start := m.Ptr[lo+k] - first
				ends[k] = start + int64(len(sortedRow(part[start:ends[k]], m.Val != nil)))
			}
		})
		for k, end := range ends {
			start := m.Ptr[lo+k] - first
			m.Ptr[lo+k] = kept
			for _, entry := range part[start:end] {
				if m.Idx[kept] = int32(entry >> 32); m.Val != nil {
					m.Val[kept] = math.Float32frombits(uint32(entry))
				}
				kept++
			}
		}
		if progress != nil {
			progress(m.Ptr[hi], all)
		}
	}
	m.Ptr[m.Rows], m.Idx = kept, m.Idx[:kept]
	if m.Val != nil {
		m.Val = m.Val[:kept]
	}
	if r.Edges = kept; !b.directed {
		r.Edges /= 2
	}
	r.Duplicates = r.Given - r.SelfLoops - r.Edges
	return nil
}

// scatter puts every edge into its two rows, or only the first one if directed, if they are among
// the len(next) rows from number first on. next has the place in part of the next entry of each.
func (b *Builder) scatter(part []uint64, next []int64, first int) {
	rows := uint32(len(next))
	for _, c := range b.chunks {
		for k, e := range c.edges {
			u, v := uint32(int(e.U)-first), uint32(int(e.V)-first)
			if e.U == e.V || u >= rows && v >= rows {
				continue
			}
			value := uint64(math.Float32bits(float32(Weight(c.weights, k))))
			if u < rows {
				part[next[u]] = uint64(e.V)<<32 | value
				next[u]++
			}
			if v < rows && !b.directed {
				part[next[v]] = uint64(e.U)<<32 | value
				next[v]++
			}
		}
	}
}

// sortedRow sorts a row by columns, and keeps the first of the entries with equal columns. Both rows of
// a pair of nodes hold its edges in the same order, so the matrix is symmetric.
func sortedRow(row []uint64, weighted bool) []uint64 {
	if weighted {
		slices.SortStableFunc(row, func(x, y uint64) int { return cmp.Compare(x>>32, y>>32) })
	} else {
		slices.Sort(row)
	}
	return slices.CompactFunc(row, func(x, y uint64) bool { return x>>32 == y>>32 })
}
