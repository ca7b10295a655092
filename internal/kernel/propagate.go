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
	n := len(rows)
	if rows == nil {
		n = p.Nodes()
	}
	checkLen("PropagateRows", "dst", len(dst), n*width)
	if n == 0 || width == 0 {
		return
	}
	entries := p.Adjacency.NNZ() / int64(p.Nodes())
	g := max(grain(width*int(4+entries)/2), SegmentedRows(n, entries, len(x)/width, width))
	parallel.For(n, g, func(lo, hi int) {
		propagateRows(dst[lo*width:hi*width], p, rows, x, width, local, lo, hi)
	})
}

// explicit holds rows of P with their values written out.
type explicit struct{ graph.CSR }

var explicits = sync.Pool{New: func() any { return new(explicit) }}

// propagateRows writes out rows lo to hi of P and multiplies by them. Rows with many more
// entries than the average are written out in parts, which bounds the scratch memory.
func propagateRows(dst []float32, p *graph.Laplacian, rows []int32, x []float32, width int, local []int32, lo, hi int) {
	e := explicits.Get().(*explicit)
	defer explicits.Put(e)
	e.Cols = len(x) / width
	row := func(i int) int32 {
		if rows != nil {
			return rows[i]
		}
		return int32(i)
	}
	for ; lo < hi; dst = dst[e.Rows*width:] {
		entries, end := 0, lo
		for ; end < hi && entries < mostPart; end++ {
			entries += p.RowNNZ(int(row(end)))
		}
		e.Ptr, e.Idx, e.Val = append(e.Ptr[:0], 0), slices.Grow(e.Idx[:0], entries), slices.Grow(e.Val[:0], entries)
		for ; lo < end; lo++ {
			e.append(p, row(lo))
		}
		if local != nil {
			for k, j := range e.Idx {
				e.Idx[k] = local[j]
			}
		}
		e.Rows = len(e.Ptr) - 1
		spmmRows(dst, &e.CSR, 0, e.Rows, nil, e.Cols, x, width)
	}
}

func (e *explicit) append(p *graph.Laplacian, r int32) {
	scale := p.RowScale[r]
	e.Idx, e.Val = append(e.Idx, r), append(e.Val, scale*p.ColScale[r])
	columns := p.Adjacency.Row(int(r))
	e.Idx = append(e.Idx, columns...)
	if values := p.Adjacency.RowValues(int(r)); values != nil {
		for k, j := range columns {
			e.Val = append(e.Val, scale*values[k]*p.ColScale[j])
		}
	} else {
		for _, j := range columns {
			e.Val = append(e.Val, scale*p.ColScale[j])
		}
	}
	e.Ptr = append(e.Ptr, int64(len(e.Idx)))
}
