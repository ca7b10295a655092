package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MatMul returns X·W for float32 matrices of shapes (n, in) and (in, out); n may differ
// from run to run. The gradients are ∂L/∂X = ∂L/∂out·Wᵀ and ∂L/∂W = Xᵀ·∂L/∂out. None is
// built for an input that is Constant. The error wraps ErrShape if the shapes do not
// fit. Cost: O(n·in·out) a product.
func MatMul(x, w *G.Node) (*G.Node, error) {
	return Affine(x, w, nil, nil)
}

// Affine returns X·W + 1⊗b, for b of length out. With a slot it returns X·W + r⊗b, where
// r is the row sums of the block's matrix. Then
//
//	Affine(Propagate(slot, h), w, b, slot) = Propagate(slot, Affine(h, w, b, nil))
//
// up to rounding, and X has one row for each output node of the block. Without b, which may be
// nil, it is MatMul. Shapes, errors and cost are as in MatMul; ∂L/∂b = Σᵢ rᵢ·∂L/∂outᵢ, with r = 1
// without a slot.
func Affine(x, w, b *G.Node, slot *Slot) (*G.Node, error) {
	name, inputs := "MatMul", G.Nodes{x, w}
	if b != nil {
		name, inputs = "Affine", G.Nodes{x, w, b}
	}
	if err := checkMatrix(name, x, w); err != nil {
		return nil, err
	}
	in, out := w.Shape()[0], w.Shape()[1]
	if x.Shape()[1] != in {
		return nil, fmt.Errorf("ops: %s: %v times %v: %w", name, x.Shape(), w.Shape(), ErrShape)
	}
	if err := checkVectors(name, x, out, inputs[2:]...); err != nil {
		return nil, err
	}
	backend, err := blas.Default()
	if err != nil {
		return nil, fmt.Errorf("ops: %s: %w", name, err)
	}
	op := &product{
		base:  base{name: name},
		blas:  backend,
		below: x.Op(),
	}
	if op.bias = b != nil; op.bias {
		op.slot = slot
	}
	if op.slot != nil && x.Shape()[0] != slot.dst {
		return nil, fmt.Errorf("ops: %s: X has %d rows, its slot %d output nodes: %w", name, x.Shape()[0], slot.dst, ErrShape)
	}
	return apply(op, tensor.Shape{x.Shape()[0], out}, inputs...)
}

// product is A·B, with a bias for each row or without, or one of its gradients A·Bᵀ and
// Aᵀ·B. The row sums of its slot scale the bias; without a slot they are 1.
type product struct {
	base
	blas           blas.BLAS
	transA, transB bool
	bias           bool
	below          G.Op // of the forward product's X
}

// productRun is the state of a product in a run.
type productRun struct {
	products   rowProducts
	set        rowSet    // rows of the forward product's output that may differ from zero
	transposed graph.CSR // memory of the transpose of a sparse A

	bias, scale device.Pointer // on a device, for the activation above
}

// biasAbove reports whether the activation above adds the bias on a device: nothing else reads the
// product, and the bias is an input of the graph.
func (op *product) biasAbove(r *plan.Run) bool {
	return op.bias && op.inputs[2].Op() == nil && len(r.Readers(op.node)) == 1 && r.ReadOnlyBy(op.node, func(reader *G.Node) bool {
		_, ok := reader.Op().(*activate)
		return ok
	})
}

// Operations counts the product, and those of its gradients.
func (op *product) Operations(w plan.Work) float64 {
	share := 1.0
	switch below := op.below.(type) {
	case *features:
		share = filled(below.x)
	case *propagate:
		if source := below.source; source != nil && source.x.Sparse != nil {
			share = min(filled(source.x)*w.Entries/max(w.Rows, 1), 1)
		}
	}
	return w.Passes(op.wanted[:2]...) * w.Rows * share * float64(op.inputs[1].Shape().TotalSize())
}

func (op *product) Compute(c *plan.Call) error {
	var rows *graph.CSR // A, if it is a sparse matrix
	if c.Device == nil && !op.transB {
		rows = sparseRows(c.Run, op.below)
	}
	var a plan.Matrix
	if rows != nil {
		a.Rows, a.Cols = rows.Rows, rows.Cols
	} else {
		a = c.Matrix(0)
		rows = op.withoutZeros(c, a)
	}
	b := c.Matrix(1)
	size := plan.Product{TransA: op.transA, TransB: op.transB, M: a.Rows, N: b.Cols, K: a.Cols, Lda: a.Cols, Ldb: b.Cols}
	inner := b.Rows
	if op.transA {
		size.M, size.K = size.K, size.M
	}
	if op.transB {
		size.N, inner = inner, size.N
	}
	if inner != size.K {
		return c.Sizes("(%d, %d) times (%d, %d)", size.M, size.K, inner, size.N)
	}
	var bias, scale plan.Floats
	if op.bias {
		bias = c.Vector(2, size.N)
		scale = op.slot.rowSums(c, size.M)
	}
	to := c.OutMatrix(size.M, size.N)
	s := plan.StateOf[productRun](c.Run, op)
	return c.On(func() error {
		c.Dense(size)
		var beta float32
		if s.bias, s.scale = bias.At, scale.At; op.bias && !op.biasAbove(c.Run) {
			if err := c.Device.BiasRows(to.At, bias.At, scale.At, size.M, size.N); err != nil {
				return err
			}
			beta = 1
		}
		return c.Device.Sgemm(size.TransA, size.TransB, size.M, size.N, size.K, a.At, a.Cols, b.At, b.Cols, beta, to.At)
	}, func() {
		switch {
		case rows != nil && op.transA:
			rows.TransposeInto(&s.transposed)
			kernel.SpMM(to.Data, &s.transposed, b.Data, b.Cols)
		case rows != nil:
			op.keepRows(c.Run, size.M, bias.Data, scale.Data)
			kernel.SpMMBias(to.Data, rows, b.Data, b.Cols, bias.Data, scale.Data)
		default:
			op.dense(c, size, a, b, bias.Data, scale.Data, to)
		}
	})
}

// withoutZeros returns A as a sparse matrix if it is rows of features that are mostly 0, and nil
// otherwise, and on a device. The gradient of W, later in a run, takes the matrix of the product.
func (op *product) withoutZeros(c *plan.Call, a plan.Matrix) *graph.CSR {
	below, ok := op.below.(*features)
	if !ok || below.x.NonZero == 0 || op.transB || c.Device != nil {
		return nil
	}
	rows := &below.of(c.Run).rows
	if !op.transA {
		kernel.WithoutZeros(rows, a.Data, a.Rows, a.Cols)
	}
	return rows
}

// dense sets to to op(A)·op(B) + scale⊗bias. It leaves out rows of A that are zero.
func (op *product) dense(c *plan.Call, size plan.Product, a, b plan.Matrix, bias, scale []float32, to plan.Matrix) {
	if !op.transA && !op.transB {
		op.keepRows(c.Run, a.Rows, bias, scale)
	}
	rows := rowsToCompute(c.Run, op.below, op.transB, a.Rows)
	s := plan.StateOf[productRun](c.Run, op)
	switch {
	case rows == nil:
	case op.transA:
		size.K = len(rows)
	default:
		size.M = len(rows)
		fillOthers(to, rows, bias, scale)
	}
	c.Dense(size)
	if op.transA {
		s.products.multiplyOver(op.blas, rows, a, b, to.Data)
	} else {
		s.products.multiplyRows(op.blas, rows, op.transB, a, b, bias, scale, to.Data, to.Cols)
	}
}

// keepRows finds the rows of the output that may differ from zero: the rows of A that may,
// and those with a scaled bias.
func (op *product) keepRows(r *plan.Run, rows int, bias, scale []float32) {
	below := nonzero(r, op.below, false)
	set := &plan.StateOf[productRun](r, op).set
	if below == nil || bias != nil && scale == nil {
		*set = rowSet{} // all
		return
	}
	set.collect(rows, func(i int) bool { return below.has[i] || bias != nil && scale[i] != 0 })
}

func (op *product) differentiate(d *gradients, _, grad *G.Node) {
	x, w := op.inputs[0], op.inputs[1]
	d.add(0, &product{base: base{name: op.name + "BackX"}, blas: op.blas, transB: true, below: op.below}, grad, w)
	d.add(1, &product{base: base{name: op.name + "BackW"}, blas: op.blas, transA: true, below: op.below}, x, grad)
	if op.bias {
		d.add(2, &columnSums{base{name: op.name + "BackB", slot: op.slot}}, grad)
	}
}

// columnSums is Σᵢ rᵢ·Xᵢ over the rows of X. r is the row sums of the slot's block, or 1
// without a slot.
type columnSums struct{ base }

func (op *columnSums) Compute(c *plan.Call) error {
	_, err := sumColumns(c, c.Matrix(0), op.slot)
	return err
}

// sumColumns makes columnSums of x the result of c.
func sumColumns(c *plan.Call, x plan.Matrix, slot *Slot) (to plan.Floats, err error) {
	scale := slot.rowSums(c, x.Rows)
	to = c.OutVector(x.Cols)
	return to, c.On(func() error {
		return c.Device.ColumnSums(to.At, x.At, 0, scale.At, x.Rows, x.Cols)
	}, func() {
		kernel.ColumnSums(to.Data, x.Data, scale.Data, x.Rows, x.Cols)
	})
}
