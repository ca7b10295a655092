package kernel

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// PropagateRows computes full-neighbour rows of the propagation matrix times
// X, the implicit self-loops included: row i of dst is row rows[i] of P·X, or
// row i where rows is nil and all of P·X is wanted.
//
// x holds one row a node; where local is not nil it holds only some nodes, node
// j in row local[j], and local must cover every node of rows and all their
// neighbours. Cost: 2·nnz·width operations, mostly bound by reading X.
func PropagateRows(dst []float32, p *graph.Laplacian, rows []int32, x []float32, width int, local []int32) {
	n := len(rows)
	if rows == nil {
		n = p.Nodes()
	}
	checkLen("PropagateRows", "dst", len(dst), n*width)
	if n == 0 || width == 0 {
		return
	}
	perRow := width * int(2+p.Adjacency.NNZ()/int64(p.Nodes()))
	parallel.For(n, grain(perRow), func(lo, hi int) {
		propagateRows(dst, p, rows, x, width, local, lo, hi)
	})
}

func propagateRows(dst []float32, p *graph.Laplacian, rows []int32, x []float32, width int, local []int32, lo, hi int) {
	at := func(j int32) []float32 {
		if local != nil {
			j = local[j]
		}
		return x[int(j)*width : (int(j)+1)*width]
	}
	for i := lo; i < hi; i++ {
		r := int32(i)
		if rows != nil {
			r = rows[i]
		}
		y := dst[i*width : (i+1)*width]
		clear(y)
		scale := p.RowScale[r]
		axpy(y, scale*p.ColScale[r], at(r))
		values := p.Adjacency.RowValues(int(r))
		for k, j := range p.Adjacency.Row(int(r)) {
			v := scale * p.ColScale[j]
			if values != nil {
				v *= values[k]
			}
			axpy(y, v, at(j))
		}
	}
}
