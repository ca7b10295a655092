package ops

import (
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	G "gorgonia.org/gorgonia"
)

// A sampled block has rows without an entry, a third of them where as many
// nodes are drawn as there are rows, and the layers above make nothing of them:
// P̃H is zero there, so is P̃HW, and so is the activation, whatever the
// parameters. No gradient with regard to such a row can matter either, since it
// is a constant. Products leave these rows out.

// sparse is an op that knows which rows of its output may differ from zero.
type sparse interface {
	// nonzero returns those rows of the last run's output, ascending; nil
	// means all. They are valid until the next run.
	nonzero() []int32
}

// sparseOf returns the op that makes n if it is sparse, or nil.
func sparseOf(n *G.Node) sparse {
	s, _ := n.Op().(sparse)
	return s
}

// rowSet is a set of rows, or all of them.
type rowSet struct {
	all  bool
	rows []int32
}

// nonzero returns the rows, or nil if they are all.
func (s *rowSet) nonzero() []int32 {
	if s.all {
		return nil
	}
	return s.rows
}

// collect makes the set of the rows below n that belong.
func (s *rowSet) collect(n int, belongs func(i int) bool) {
	s.rows = scratch(s.rows, n)[:0]
	for i := range n {
		if belongs(i) {
			s.rows = append(s.rows, int32(i))
		}
	}
	s.all = len(s.rows) == n
}

// from returns the rows of below, of n, if leaving the others out of a product
// pays, else nil.
func from(below sparse, n int) []int32 {
	if below == nil {
		return nil
	}
	rows := below.nonzero()
	if rows == nil || 8*len(rows) > 7*n {
		return nil
	}
	return rows
}

// fillOthers sets the rows of c, n×cols, that are not among rows to scale⊗bias,
// nil bias meaning zeros, nil scale 1.
func fillOthers(c []float32, rows []int32, n, cols int, bias, scale []float32) {
	fill := func(lo, hi int) {
		switch {
		case lo == hi:
		case bias == nil:
			clear(c[lo*cols : hi*cols])
		case scale == nil:
			kernel.BiasRows(c[lo*cols:hi*cols], bias, nil, hi-lo, cols)
		default:
			kernel.BiasRows(c[lo*cols:hi*cols], bias, scale[lo:hi], hi-lo, cols)
		}
	}
	next := 0
	for _, r := range rows {
		fill(next, int(r))
		next = int(r) + 1
	}
	fill(next, n)
}

// rowProducts multiplies rows of matrices: where they lie if the BLAS can, else
// moved together and apart again.
type rowProducts struct {
	blas           blas.BLAS
	a, b, c, scale []float32 // rows moved together
}

// multiplyRows sets the given rows of C, nil meaning all, to those of A·op(B),
// or of scale⊗bias + A·op(B) with a bias. scale nil means 1. The other rows of C
// stay as they are.
func (p *rowProducts) multiplyRows(rows []int32, transB bool, a, b matrix, bias, scale, c []float32, cols int) {
	if with, ok := p.blas.(blas.RowBLAS); ok {
		with.SgemmRows(rows, transB, a.rows, cols, a.cols, a.data, a.cols, b.data, b.cols, bias, scale, c, cols)
		return
	}
	n, from, to := a.rows, a.data, c
	if rows != nil {
		n = len(rows)
		// As large as it may get: the number of rows changes from run to run.
		p.a, p.c = scratch(p.a, len(a.data)), scratch(p.c, len(c))
		from, to = p.a[:n*a.cols], p.c[:n*cols]
		kernel.Gather(from, a.data, rows, a.cols)
	}
	var beta float32
	if bias != nil {
		if rows != nil && scale != nil {
			p.scale = scratch(p.scale, a.rows)
			kernel.Gather(p.scale[:n], scale, rows, 1)
			scale = p.scale[:n]
		}
		kernel.BiasRows(to, bias, scale, n, cols)
		beta = 1
	}
	p.blas.Sgemm(false, transB, n, cols, a.cols, 1, from, a.cols, b.data, b.cols, beta, to, cols)
	if rows != nil {
		kernel.Scatter(c, to, rows, cols)
	}
}

// multiplyOver sets C to Aᵀ·B, summed over the given rows of A and B alone, nil
// meaning all.
func (p *rowProducts) multiplyOver(over []int32, a, b matrix, c []float32) {
	n, from, with := a.rows, a.data, b.data
	if over != nil {
		if rows, ok := p.blas.(blas.RowBLAS); ok {
			rows.SgemmOver(over, a.rows, a.cols, b.cols, a.data, a.cols, b.data, b.cols, c, b.cols)
			return
		}
		n = len(over)
		p.a, p.b = scratch(p.a, len(a.data)), scratch(p.b, len(b.data))
		from, with = p.a[:n*a.cols], p.b[:n*b.cols]
		kernel.Gather(from, a.data, over, a.cols)
		kernel.Gather(with, b.data, over, b.cols)
	}
	p.blas.Sgemm(true, false, a.cols, b.cols, n, 1, from, a.cols, with, b.cols, 0, c, b.cols)
}
