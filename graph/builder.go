package graph

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"runtime"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/memory"
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
func (b *Builder) AddEdges(edges []Edge) (err error) {
	n := uint32(b.nodes)
	for k, e := range edges {
		if uint32(e.U) >= n || uint32(e.V) >= n {
			err = fmt.Errorf("graph: edge (%d, %d) outside [0, %d): %w", e.U, e.V, b.nodes, ErrInvalid)
			edges = edges[:k]
			break
		}
	}
	b.report.Given += int64(len(edges))
	for len(edges) > 0 {
		c := b.room()
		u, values := b.u, c.values // in registers: this halves the loop's time
		fit := min(len(edges), (cap(values)-len(values))/2)
		for _, e := range edges[:fit] {
			if len(values) == 0 || e.U != u {
				values = append(values, ^e.U)
				u = e.U
			}
			if values = append(values, e.V); e.U == e.V {
				b.report.SelfLoops++
			}
			if c.weights != nil {
				c.weights = append(c.weights, 1)
			}
		}
		b.u, c.values, edges = u, values, edges[fit:]
	}
	return err
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
// increase strictly; Val is nil if all weights are 1. Cost: O(E) time on all cores. Memory at the
// peak: 8 bytes per node and 12 per edge more than the builder's, 20 with weights, less for large
// graphs; and 16, or 24, for each entry of the groups of rows that are sorted at a time, one a core.
func (b *Builder) Build() (*CSR, Report) {
	const least, parts = 1 << 26, 4 // each part reads all edges
	starts := b.groupStarts()
	all := starts[len(starts)-1]
	m := &CSR{Idx: memory.Large[int32](int(all))}
	if b.weighted {
		m.Val = memory.Large[float32](int(all))
	}
	report, _ := b.fill(context.Background(), m, starts, max(least, entryMemory*all/parts), nil)
	*b = Builder{nodes: b.nodes}
	return m, report
}

// BuildDirected is Build for a directed graph: the columns of row u are the nodes v of the
// edges added as (u, v). Report.Edges counts directed edges.
func (b *Builder) BuildDirected() (*CSR, Report) {
	b.directed = true
	return b.Build()
}

// shift returns the shift of rowGroups. Up to 2²⁷ rows make at most 2048 groups: each is a place where
// processors write.
func (b *Builder) shift() int { return min(max(4, bits.Len(uint(b.nodes))-11), 16) }

// groupStarts returns the number of entries, with duplicates, before each group of rows, and of all.
func (b *Builder) groupStarts() []int64 {
	shift := b.shift()
	starts := make([]int64, (b.nodes-1)>>shift+2)
	for _, c := range b.chunks {
		u := int32(0)
		for _, v := range c.values {
			switch {
			case v < 0:
				u = ^v
			case u != v:
				starts[u>>shift+1]++
				if !b.directed {
					starts[v>>shift+1]++
				}
			}
		}
	}
	for g := range starts[1:] {
		starts[g+1] += starts[g]
	}
	return starts
}

const entryMemory = 6 // bytes of an entry in rowGroups, without its value

// fill fills m, whose Idx and Val have room for the entries of all groups, with rows in the order of
// columns and without duplicates. It sorts groups that take at most bytes at a time, or one.
// progress, if not nil, is called with the number of entries sorted so far and the number of all.
// The error is the context's.
func (b *Builder) fill(ctx context.Context, m *CSR, starts []int64, bytes int64, progress func(done, all int64)) (Report, error) {
	m.Rows, m.Cols, m.Ptr = b.nodes, b.nodes, make([]int64, b.nodes+1)
	groups, all, kept := len(starts)-1, starts[len(starts)-1], int64(0)
	g := &rowGroups{
		shift:   b.shift(),
		rows:    make([]uint16, min(bytes/entryMemory, all)), // more for a large group
		sorters: make(chan *rowSorter, runtime.GOMAXPROCS(0)),
	}
	for range cap(g.sorters) {
		g.sorters <- new(rowSorter)
	}
	if b.files != nil { // these are in memory, since the columns are in a file
		g.columns = make([]int32, len(g.rows))
	}
	for lo, hi := 0, 0; lo < groups; lo = hi {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		hi++
		for hi < groups && entryMemory*(starts[hi+1]-starts[lo]) <= bytes {
			hi++
		}
		first, last := starts[lo], starts[hi]
		if b.files == nil {
			g.columns = m.Idx[first:last]
		} else {
			g.columns = resize(g.columns, int(last-first))
		}
		g.rows = resize(g.rows, len(g.columns))
		if m.Val != nil {
			g.values = m.Val[first:last]
		}
		kept = b.fillGroups(m, g, lo, starts[lo:hi+1], kept)
		if progress != nil {
			progress(last, all)
		}
	}
	for i := range b.nodes {
		m.Ptr[i+1] += m.Ptr[i]
	}
	m.Idx = m.Idx[:kept]
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

// fillGroups puts the entries of some groups into g, sorts them there, and moves the first of equal
// ones to m. lo is the number of the first group, and starts has the first entry of each and the end
// of the last. m has kept entries before. The result is its number of entries afterwards.
func (b *Builder) fillGroups(m *CSR, g *rowGroups, lo int, starts []int64, kept int64) int64 {
	g.next = g.next[:0]
	for _, start := range starts {
		g.next = append(g.next, start-starts[0])
	}
	// Each stripe of groups has a goroutine, which reads all edges and writes the entries of its rows. The
	// entries of a row are therefore in the order of the edges for any number of stripes.
	stripes, groups := min(runtime.GOMAXPROCS(0), 16), len(starts)-1
	bounds := make([]int, stripes, stripes+1)
	for k := range bounds { // all stripes have about as many entries
		bounds[k], _ = slices.BinarySearch(g.next[:groups], int64(len(g.columns)/stripes*k))
	}
	bounds = append(bounds, groups)
	parallel.For(stripes, 1, func(from, to int) {
		if bounds[from] < bounds[to] {
			b.scatter(g, lo, bounds[from], bounds[to])
		}
	})
	parallel.For(groups, 1, func(k, _ int) {
		row := (lo + k) << g.shift
		counts := m.Ptr[row+1 : min(row+1<<g.shift, m.Rows)+1]
		g.next[k] = g.sort(starts[k]-starts[0], starts[k+1]-starts[0], counts, m.Cols)
	})
	for k, end := range g.next[:groups] {
		start := starts[k] - starts[0]
		if copy(m.Idx[kept:], g.columns[start:end]); m.Val != nil {
			copy(m.Val[kept:], g.values[start:end])
		}
		kept += end - start
	}
	return kept
}

// scatter puts every edge into the groups of its two rows, or only of the first one if directed, if
// they are among the groups from to to of g, whose group 0 is group lo of all.
func (b *Builder) scatter(g *rowGroups, lo, from, to int) {
	first, next := int32((lo+from)<<g.shift), g.next[from:to]
	rows := uint64(min((lo+to)<<g.shift, b.nodes)) - uint64(first)
	columns, placed, values, shift := g.columns, g.rows, g.values, uint(g.shift)
	var found [512]struct { // entries of these rows, to be put in one loop without other branches
		row    uint32 // counted from first
		column int32
		edge   int // in its chunk
	}
	for _, c := range b.chunks {
		n, u, edge := 0, int32(0), -1
		put := func() {
			for _, e := range found[:n] {
				at := next[e.row>>shift]
				next[e.row>>shift] = at + 1
				columns[at], placed[at] = e.column, uint16(e.row&(1<<shift-1))
				if values != nil {
					values[at] = float32(Weight(c.weights, e.edge))
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
