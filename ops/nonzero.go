package ops

import (
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// Many rows of a sampled block are empty: about a third, if a layer draws as many nodes as
// it has rows. P̃H, P̃HW and the activation are zero in these rows for all parameters, so
// their gradients are not needed either. Products leave these rows out. A control fills the
// empty rows, but does not depend on H: only the product of the gradient leaves them out.

// rowSet is some rows of a matrix.
type rowSet struct {
	rows []int32 // in ascending order
	has  []bool  // of each row
}

// collect sets s to the rows i below n for which belongs(i).
func (s *rowSet) collect(n int, belongs func(i int) bool) {
	s.rows = scratch(s.rows, n)[:0]
	s.has = scratch(s.has, n)
	for i := range n {
		if s.has[i] = belongs(i); s.has[i] {
			s.rows = append(s.rows, int32(i))
		}
	}
}

// nonzero returns the rows of op's value in r that may differ from zero, or nil for all rows. They
// are valid until the next run. With a gradient it returns the rows of the value whose gradient is
// read: they are fewer where a history fills rows.
func nonzero(r *plan.Run, op G.Op, gradient bool) *rowSet {
	var s *rowSet
	switch op := op.(type) {
	case *activate: // every activation of 0 is 0
		return nonzero(r, op.inputs[0].Op(), false)
	case *propagate:
		if gradient || op.history == nil {
			s = &op.of(r).set
		}
	case *product:
		if !op.transA && !op.transB {
			s = &plan.StateOf[productRun](r, op).set
		}
	}
	if s == nil || len(s.rows) == len(s.has) {
		return nil
	}
	return s
}

// rowsToCompute returns the rows of nonzero, of n. It returns nil if they are more than 7/8 of all:
// leaving the others out of a product is then not faster.
func rowsToCompute(r *plan.Run, op G.Op, gradient bool, n int) []int32 {
	s := nonzero(r, op, gradient)
	if s == nil || 8*len(s.rows) > 7*n {
		return nil
	}
	return s.rows
}

// fillOthers sets the rows of c that are not in rows to scale⊗bias. A nil bias is 0, a nil scale 1.
func fillOthers(c plan.Matrix, rows []int32, bias, scale []float32) {
	fill := func(lo, hi int) {
		to, scale := c.Part(lo, hi).Data, scale
		if scale != nil {
			scale = scale[lo:hi]
		}
		if bias == nil {
			clear(to)
		} else {
			kernel.BiasRows(to, bias, scale, hi-lo, c.Cols)
		}
	}
	next := 0
	for _, r := range rows {
		if next < int(r) {
			fill(next, int(r))
		}
		next = int(r) + 1
	}
	fill(next, c.Rows)
}

// rowProducts is memory to multiply selected rows of matrices: in place if the BLAS is a
// RowBLAS, otherwise it gathers and scatters them.
type rowProducts struct{ a, b, c []float32 } // rows moved together

// together returns the given rows of x, in memory that fits all of x: their number changes from run
// to run.
func together(memory *[]float32, x []float32, rows []int32, cols int) []float32 {
	*memory = scratch(*memory, len(x))
	moved := (*memory)[:len(rows)*cols]
	kernel.Gather(moved, x, rows, cols)
	return moved
}

// multiplyRows sets the given rows of C to scale⊗bias + A·op(B), and leaves the others
// unchanged or sets them to scale⊗bias. Nil rows are all rows, a nil bias is 0, a nil scale 1.
func (p *rowProducts) multiplyRows(on blas.BLAS, rows []int32, transB bool, a, b plan.Matrix, bias, scale, c []float32, cols int) {
	if with, ok := on.(blas.RowBLAS); ok {
		with.SgemmRows(rows, transB, a.Rows, cols, a.Cols, a.Data, a.Cols, b.Data, b.Cols, bias, scale, c, cols)
		return
	}
	var beta float32
	if bias != nil {
		kernel.BiasRows(c, bias, scale, a.Rows, cols)
		beta = 1
	}
	n, from, to := a.Rows, a.Data, c
	if rows != nil {
		n = len(rows)
		from, to = together(&p.a, from, rows, a.Cols), together(&p.c, c, rows, cols)
	}
	on.Sgemm(false, transB, n, cols, a.Cols, 1, from, a.Cols, b.Data, b.Cols, beta, to, cols)
	if rows != nil {
		kernel.Scatter(c, to, rows, cols)
	}
}

// multiplyOver sets C to Aᵀ·B, summed over the given rows of A and B; nil is all rows.
func (p *rowProducts) multiplyOver(on blas.BLAS, over []int32, a, b plan.Matrix, c []float32) {
	if a.Rows == 0 || over != nil && len(over) == 0 {
		clear(c)
		return
	}
	n, from, with := a.Rows, a.Data, b.Data
	if over != nil {
		if rows, ok := on.(blas.RowBLAS); ok {
			rows.SgemmOver(over, a.Rows, a.Cols, b.Cols, a.Data, a.Cols, b.Data, b.Cols, c, b.Cols)
			return
		}
		n = len(over)
		from, with = together(&p.a, from, over, a.Cols), together(&p.b, with, over, b.Cols)
	}
	on.Sgemm(true, false, a.Cols, b.Cols, n, 1, from, a.Cols, with, b.Cols, 0, c, b.Cols)
}
