package kernel

import (
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// PropagateRows computes full-neighbour rows of the propagation matrix times
// X, the implicit self-loops included: row i of dst is row rows[i] of P·X, or
// row i where rows is nil and all of P·X is wanted. A row sums its self-loop
// first, then its neighbours in the order they are stored.
//
// x holds one row a node; where local is not nil it holds only some nodes, node
// j in row local[j], and local must cover every node of rows and all their
// neighbours. Cost: 2·nnz·width operations, mostly bound by reading X; scratch
// of 8 bytes for every entry of the rows at work.
func PropagateRows(dst []float32, p *graph.Laplacian, rows []int32, x []float32, width int, local []int32) {
	rows = OrAll(rows, p)
	n := len(rows)
	checkLen("PropagateRows", "dst", len(dst), n*width)
	if n == 0 || width == 0 {
		return
	}
	entries := p.Adjacency.NNZ() / int64(p.Nodes())
	g := max(grain(width*int(4+entries)/2), SegmentedRows(n, entries, len(x)/width, width))
	parallel.For(n, g, func(lo, hi int) { propagateRows(dst[lo*width:hi*width], p, rows[lo:hi], x, width, local) })
}

// OrAll returns rows, or all nodes of p if rows is nil. Cost: O(nodes of p) if it is.
func OrAll(rows []int32, p *graph.Laplacian) []int32 {
	if rows == nil {
		rows = make([]int32, p.Nodes())
		for v := range rows {
			rows[v] = int32(v)
		}
	}
	return rows
}

// written holds rows of P with their values.
var written = sync.Pool{New: func() any { return new(graph.CSR) }}

// propagateRows writes out rows of P and multiplies by them. Rows with many more entries than
// the average are written out in parts, which bounds the scratch memory.
func propagateRows(dst []float32, p *graph.Laplacian, rows []int32, x []float32, width int, local []int32) {
	m := written.Get().(*graph.CSR)
	defer written.Put(m)
	for len(rows) > 0 {
		entries, end := 0, 0
		for ; end < len(rows) && entries < mostPart; end++ {
			entries += p.RowNNZ(int(rows[end]))
		}
		Rows(m, p, rows[:end], local)
		m.Cols = len(x) / width
		spmmRows(dst, m, 0, end, nil, m.Cols, x, width)
		dst, rows = dst[end*width:], rows[end:]
	}
}

// Rows sets dst, in its memory, to the given rows of P with their values. A row's own node comes
// first, then its neighbours in the order they are stored. Node j is column local[j], or j where
// local is nil.
func Rows(dst *graph.CSR, p *graph.Laplacian, rows, local []int32) {
	entries := 0
	for _, r := range rows {
		entries += p.RowNNZ(int(r))
	}
	dst.Rows, dst.Cols = len(rows), p.Nodes()
	dst.Ptr, dst.Idx, dst.Val = append(dst.Ptr[:0], 0), slices.Grow(dst.Idx[:0], entries), slices.Grow(dst.Val[:0], entries)
	for _, r := range rows {
		dst.Idx, dst.Val = append(dst.Idx, r), append(dst.Val, p.RowScale[r]*p.ColScale[r])
		appendEntries(dst, p, r, p.Adjacency.Row(int(r)), 0)
		if local != nil {
			row := dst.Idx[dst.Ptr[len(dst.Ptr)-1]:]
			for k, j := range row {
				row[k] = local[j]
			}
		}
		dst.Ptr = append(dst.Ptr, int64(len(dst.Idx)))
	}
}

// appendEntries appends to dst the entries of row r of P in the given columns. These are columns of
// the row from number first on. The self-loop is not among them.
func appendEntries(dst *graph.CSR, p *graph.Laplacian, r int32, columns []int32, first int) {
	at, scale, colScale := len(dst.Val), p.RowScale[r], p.ColScale
	dst.Idx, dst.Val = append(dst.Idx, columns...), slices.Grow(dst.Val, len(columns))[:at+len(columns)]
	to := dst.Val[at:][:len(columns)]
	if values := p.Adjacency.RowValues(int(r)); values != nil {
		values = values[first:]
		for k, j := range columns {
			to[k] = scale * values[k] * colScale[j]
		}
	} else {
		for k, j := range columns {
			to[k] = scale * colScale[j]
		}
	}
}
