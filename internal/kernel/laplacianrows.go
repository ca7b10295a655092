package kernel

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// LaplacianRows are rows of P with their values written out, for an X of some nodes that is
// multiplied more than once. They take 8 bytes an entry.
type LaplacianRows struct {
	rows   []int32
	first  int // of the rows that are written out
	matrix graph.CSR
}

// NewLaplacianRows writes out the rows of P at the nodes rows[first] to rows[last−1]. Their
// columns are positions in below, which has each of these nodes and all their neighbours
// once. It keeps rows, which must not change.
func NewLaplacianRows(p *graph.Laplacian, rows []int32, first, last int, below []int32) *LaplacianRows {
	local := make([]int32, p.Nodes())
	for k, v := range below {
		local[v] = int32(k)
	}
	entries := 0
	for _, v := range rows[first:last] {
		entries += p.RowNNZ(int(v))
	}
	var e explicit
	e.Rows, e.Cols = last-first, len(below)
	e.Ptr = append(make([]int64, 0, e.Rows+1), 0)
	e.Idx, e.Val = make([]int32, 0, entries), make([]float32, 0, entries)
	for _, v := range rows[first:last] {
		e.append(p, v)
	}
	for k, v := range e.Idx {
		e.Idx[k] = local[v]
	}
	return &LaplacianRows{rows: rows, first: first, matrix: e.CSR}
}

// Of reports whether w, which may be nil, was made of this list of rows.
func (w *LaplacianRows) Of(rows []int32) bool {
	return w != nil && len(rows) > 0 && len(w.rows) == len(rows) && &w.rows[0] == &rows[0]
}

// Multiply sets dst to rows lo to hi of the list, which are written out, times X. The bits
// are the same as of PropagateRows.
func (w *LaplacianRows) Multiply(dst []float32, lo, hi int, x []float32, width int) {
	m := &w.matrix
	lo, hi = lo-w.first, hi-w.first
	checkLen("Multiply", "dst", len(dst), (hi-lo)*width)
	checkLen("Multiply", "x", len(x), m.Cols*width)
	if lo >= hi || width == 0 {
		return
	}
	part := graph.CSR{Rows: hi - lo, Cols: m.Cols, Ptr: m.Ptr[lo : hi+1], Idx: m.Idx, Val: m.Val}
	entries := int64(len(m.Idx)) / int64(m.Rows)
	g := max(grain(width*int(4+entries)/2), SegmentedRows(hi-lo, entries, m.Cols, width))
	parallel.For(hi-lo, g, func(from, to int) {
		spmmRows(dst, &part, from, to, nil, m.Cols, x, width)
	})
}
