package graph

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Builder collects edges and builds the adjacency matrix of an undirected
// simple graph from them: symmetrised, de-duplicated, without self-loops.
//
// Of two edges over the same pair of nodes the first added counts, weight
// included. Make one with NewBuilder. A Builder is not safe for concurrent
// use.
type Builder struct {
	nodes    int
	weighted bool
	chunks   [][]edge // all full but the last
	weights  [][]float32
}

type edge struct{ u, v int32 }

const builderChunk = 1 << 18

// Report says what Build did to the edges it was given.
type Report struct {
	Given      int64 // edges added
	SelfLoops  int64 // of them dropped as self-loops
	Duplicates int64 // of them dropped since the pair was there already, in either direction
	Edges      int64 // undirected edges kept, each counted once
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

// AddWeighted adds the edge between u and v with a positive finite weight. The
// error wraps ErrInvalid if a node is outside [0, n) or the weight is not
// positive and finite. Cost: O(1); 8 bytes an edge, 12 once a weight differs
// from 1.
func (b *Builder) AddWeighted(u, v int32, weight float32) error {
	if uint(u) >= uint(b.nodes) || uint(v) >= uint(b.nodes) {
		return fmt.Errorf("graph: edge (%d, %d) outside [0, %d): %w", u, v, b.nodes, ErrInvalid)
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
	last := len(b.chunks) - 1
	if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
		b.chunks = append(b.chunks, make([]edge, 0, builderChunk))
		if b.weighted {
			b.weights = append(b.weights, make([]float32, 0, builderChunk))
		}
		last++
	}
	b.chunks[last] = append(b.chunks[last], edge{u, v})
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

// Build returns the adjacency matrix and empties the builder. Columns of a row
// strictly increase; Val is nil if all weights are 1. Cost: O(E log(max
// degree)) time on all cores, and at the peak 16 bytes an edge beside the
// builder's own.
func (b *Builder) Build() (*CSR, Report) {
	var report Report
	m := &CSR{Rows: b.nodes, Cols: b.nodes, Ptr: make([]int64, b.nodes+1)}
	for _, c := range b.chunks {
		for _, e := range c {
			report.Given++
			if e.u == e.v {
				report.SelfLoops++
				continue
			}
			m.Ptr[e.u+1]++
			m.Ptr[e.v+1]++
		}
	}
	for i := range b.nodes {
		m.Ptr[i+1] += m.Ptr[i]
	}
	nnz := m.Ptr[b.nodes]
	m.Idx = make([]int32, nnz)
	if b.weighted {
		m.Val = make([]float32, nnz)
	}
	next := slices.Clone(m.Ptr[:b.nodes])
	for c, edges := range b.chunks {
		for k, e := range edges {
			if e.u == e.v {
				continue
			}
			pu, pv := next[e.u], next[e.v]
			next[e.u]++
			next[e.v]++
			m.Idx[pu], m.Idx[pv] = e.v, e.u
			if b.weighted {
				m.Val[pu], m.Val[pv] = b.weights[c][k], b.weights[c][k]
			}
		}
		b.chunks[c] = nil
	}
	b.chunks, b.weights = nil, nil
	kept := next // reuse: kept[i] is the number of distinct columns of row i
	eachRowRange(b.nodes, func(lo, hi int) {
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
	for i := range b.nodes {
		from := m.Ptr[i]
		copy(m.Idx[at:], m.Idx[from:from+kept[i]])
		if m.Val != nil {
			copy(m.Val[at:], m.Val[from:from+kept[i]])
		}
		m.Ptr[i] = at
		at += kept[i]
	}
	m.Ptr[b.nodes] = at
	m.Idx = m.Idx[:at]
	if m.Val != nil {
		m.Val = m.Val[:at]
	}
	b.weighted = false
	report.Edges = at / 2
	report.Duplicates = report.Given - report.SelfLoops - report.Edges
	return m, report
}

func sortUnique(row []int32) int {
	slices.Sort(row)
	return len(slices.Compact(row))
}

type rowEntry struct {
	col   int32
	value float32
}

// sortUniqueWeighted keeps, of entries with equal columns, the first. Both
// triangles see the edges of a pair in the same order, so symmetry holds.
func sortUniqueWeighted(row []int32, values []float32, scratch *[]rowEntry) int {
	entries := (*scratch)[:0]
	for k, j := range row {
		entries = append(entries, rowEntry{j, values[k]})
	}
	*scratch = entries
	slices.SortStableFunc(entries, func(a, b rowEntry) int { return int(a.col) - int(b.col) })
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

// eachRowRange calls f on ranges that cover [0, n), concurrently.
func eachRowRange(n int, f func(lo, hi int)) {
	const rows = 4096
	var group sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for lo := 0; lo < n; lo += rows {
		limit <- struct{}{}
		group.Add(1)
		go func() {
			defer group.Done()
			f(lo, min(lo+rows, n))
			<-limit
		}()
	}
	group.Wait()
}
