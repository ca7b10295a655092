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
	weighted bool
	directed bool        // see BuildDirected
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
func (b *Builder) Build() (*CSR, Report) {
	m := b.matrix()
	m.Idx = make([]int32, m.Ptr[b.nodes])
	if b.weighted {
		m.Val = make([]float32, len(m.Idx))
	}
	report, _ := b.fill(context.Background(), m, m.Idx, math.MaxInt64, nil)
	*b = Builder{nodes: b.nodes}
	return m, report
}

// BuildDirected is Build for a directed graph: the columns of row u are the nodes v of the
// edges added as (u, v). Report.Edges counts directed edges.
func (b *Builder) BuildDirected() (*CSR, Report) {
	b.directed = true
	return b.Build()
}

// matrix returns the matrix without its entries. Its row offsets count duplicates.
func (b *Builder) matrix() *CSR {
	ptr := make([]int64, b.nodes+1)
	for _, c := range b.chunks {
		u := int32(0)
		for _, v := range c.values {
			switch {
			case v < 0:
				u = ^v
			case u != v:
				ptr[u+1]++
				if !b.directed {
					ptr[v+1]++
				}
			}
		}
	}
	for i := range b.nodes {
		ptr[i+1] += ptr[i]
	}
	return &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: ptr}
}

// fill fills a new matrix with rows in the order of columns and without duplicates. It sorts rows
// that take at most bytes at a time, or one row, in the memory of part if that is large enough. part
// may be m.Idx if all rows fit. progress, if not nil, is called with the number of entries sorted so
// far and the number of all. The error is the context's.
func (b *Builder) fill(ctx context.Context, m *CSR, part []int32, bytes int64, progress func(done, all int64)) (Report, error) {
	all, kept := m.Ptr[m.Rows], int64(0)
	var ends []int64
	for lo, hi := 0, 0; lo < m.Rows; lo = hi {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		first := m.Ptr[lo]
		hi++
		for hi < m.Rows && 4*(m.Ptr[hi+1]-first)+8*int64(hi+1-lo) <= bytes {
			hi++
		}
		last := m.Ptr[hi]
		part, ends = resize(part, int(last-first)), append(ends[:0], m.Ptr[lo:hi]...)
		kept = b.fillRows(m, lo, part, ends, kept)
		if progress != nil {
			progress(last, all)
		}
	}
	m.Ptr[m.Rows], m.Idx = kept, m.Idx[:kept]
	if m.Val != nil {
		m.Val = m.Val[:kept]
	}
	r := b.report
	if r.Edges = kept; !b.directed {
		r.Edges /= 2
	}
	r.Duplicates = r.Given - r.SelfLoops - r.Edges
	return r, nil
}

// fillRows puts the entries of the rows from number lo on into part, sorts them there, and moves
// the first of equal ones to m, which has kept entries before. It returns the number of entries
// after that. ends has the offsets of the rows, and is overwritten.
func (b *Builder) fillRows(m *CSR, lo int, part []int32, ends []int64, kept int64) int64 {
	first, starts := m.Ptr[lo], m.Ptr[lo:lo+len(ends)]
	for k := range ends {
		ends[k] -= first // no entry is there yet
	}
	// Each stripe of rows has a goroutine, which reads all edges and writes the entries of its rows. The
	// entries of a row are therefore in the order of the edges for any number of stripes, and each
	// goroutine's random writes stay within a part of the matrix.
	stripes := min(runtime.GOMAXPROCS(0), 16)
	row := func(stripe int) int { // all stripes have about as many entries
		if stripe == stripes {
			return len(starts)
		}
		k, _ := slices.BinarySearch(starts, first+int64(len(part)/stripes*stripe))
		return k
	}
	parallel.For(stripes, 1, func(from, to int) { b.scatter(m, lo, part, ends, row(from), row(to)) })
	parallel.For(len(ends), rowRange, func(from, to int) {
		var order []rowEntry
		for k := from; k < to; k++ {
			start := m.Ptr[lo+k] - first
			row := part[start:ends[k]]
			if m.Val != nil {
				ends[k] = start + sortWeighted(row, m.Val[start:], &order)
				continue
			}
			slices.Sort(row)
			ends[k] = start + int64(len(slices.Compact(row)))
		}
	})
	for k, end := range ends {
		start := m.Ptr[lo+k] - first
		copy(m.Idx[kept:], part[start:end])
		if m.Val != nil {
			copy(m.Val[kept:], m.Val[start:end])
		}
		m.Ptr[lo+k] = kept
		kept += end - start
	}
	return kept
}

// scatter puts every edge into its two rows, or only the first one if directed, if they are among
// the rows lo+from to lo+to. next[k] is the place in part of the next entry of row lo+k.
func (b *Builder) scatter(m *CSR, lo int, part []int32, next []int64, from, to int) {
	first, next, rows := int32(lo+from), next[from:to], uint64(to-from)
	var found [512]struct { // entries of these rows, to be put in one loop without other branches
		row    uint32 // counted from first
		column int32
		edge   int // in its chunk
	}
	for _, c := range b.chunks {
		n, u, edge := 0, int32(0), -1
		put := func() {
			for _, e := range found[:n] {
				at := next[e.row]
				next[e.row] = at + 1
				if part[at] = e.column; m.Val != nil {
					m.Val[at] = float32(Weight(c.weights, e.edge))
				}
			}
			n = 0
		}
		find := func(row, column int32) {
			e := &found[n]
			e.row, e.column, e.edge = uint32(row-first), column, edge
			// No branch: a processor cannot predict whether the row is one of these. The sign of the
			// difference is 1 then.
			n += int((uint64(e.row) - rows) >> 63)
		}
		for _, v := range c.values {
			if v < 0 {
				u = ^v
				continue
			}
			if edge++; u == v {
				continue
			}
			if n > len(found)-2 {
				put()
			}
			if find(u, v); !b.directed {
				find(v, u)
			}
		}
		put()
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
