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
// pays for moving the rows together and apart, else nil.
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

// packed is a product of some rows of its matrices.
type packed struct {
	a, b, c, scale []float32
}

// multiplyRows sets the given rows of C to A·op(B), or to scale⊗bias + A·op(B) with a
// bias; m is the number of rows of A and C. The other rows of C stay as they
// are. scale nil means 1.
func (p *packed) multiplyRows(with blas.BLAS, rows []int32, transB bool, cols, inner int, a, b []float32, ldb int, bias, scale, c []float32) {
	n := len(rows)
	// As large as it may get: the number of rows changes from run to run.
	all := len(a) / inner
	p.a, p.c = scratch(p.a, all*inner)[:n*inner], scratch(p.c, all*cols)[:n*cols]
	kernel.Gather(p.a, a, rows, inner)
	var beta float32
	if bias != nil {
		if scale != nil {
			p.scale = scratch(p.scale, all)[:n]
			kernel.Gather(p.scale, scale, rows, 1)
			scale = p.scale
		}
		kernel.BiasRows(p.c, bias, scale, n, cols)
		beta = 1
	}
	with.Sgemm(false, transB, n, cols, inner, 1, p.a, inner, b, ldb, beta, p.c, cols)
	kernel.Scatter(c, p.c, rows, cols)
}

// multiplyOver sets C, of size rows×cols, to Aᵀ·B, summed over the given rows of
// A and B alone.
func (p *packed) multiplyOver(with blas.BLAS, over []int32, rows, cols int, a, b, c []float32) {
	n := len(over)
	p.a, p.b = scratch(p.a, len(a))[:n*rows], scratch(p.b, len(b))[:n*cols]
	kernel.Gather(p.a, a, over, rows)
	kernel.Gather(p.b, b, over, cols)
	with.Sgemm(true, false, rows, cols, n, 1, p.a, rows, p.b, cols, 0, c, cols)
}
