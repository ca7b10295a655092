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
func MatMul(x, w *G.Node) (*G.Node, error) { return newProduct("MatMul", x, w, nil, nil) }

// Affine returns X·W + 1⊗b, for b of length out. With a slot it returns X·W + r⊗b, where
// r is the row sums of the block's matrix. Then
//
//	Affine(Propagate(slot, h), w, b, slot) = Propagate(slot, Affine(h, w, b, nil))
//
// up to rounding, and X has one row for each output node of the block. Shapes, errors
// and cost are as in MatMul; ∂L/∂b = Σᵢ rᵢ·∂L/∂outᵢ, with r = 1 without a slot.
func Affine(x, w, b *G.Node, slot *Slot) (*G.Node, error) {
	if err := checkNodes("Affine", x, w, b); err != nil {
		return nil, err
	}
	return newProduct("Affine", x, w, b, slot)
}

func newProduct(name string, x, w, b *G.Node, slot *Slot) (*G.Node, error) {
	for _, n := range []*G.Node{x, w} {
		if err := checkMatrix(name, n); err != nil {
			return nil, err
		}
	}
	in, out := w.Shape()[0], w.Shape()[1]
	if x.Shape()[1] != in {
		return nil, fmt.Errorf("ops: %s: %v times %v: %w", name, x.Shape(), w.Shape(), ErrShape)
	}
	backend, err := blas.Default()
	if err != nil {
		return nil, fmt.Errorf("ops: %s: %w", name, err)
	}
	op := &product{base: base{name: name}, blas: backend, slot: slot}
	shape := tensor.Shape{x.Shape()[0], out}
	op.below, op.source = sparseOf(x), sparseSourceOf(x)
	if b == nil {
		return apply(op, shape, x, w)
	}
	if err := checkVector(name, b, out); err != nil {
		return nil, err
	}
	if slot != nil && x.Shape()[0] != slot.dst {
		return nil, fmt.Errorf("ops: %s: X has %d rows, its slot %d output nodes: %w", name, x.Shape()[0], slot.dst, ErrShape)
	}
	op.bias = true
	return apply(op, shape, x, w, b)
}

// product is A·B, with a bias for each row or without, or one of its gradients A·Bᵀ and
// Aᵀ·B.
type product struct {
	base
	blas           blas.BLAS
	transA, transB bool
	bias           bool
	slot           *Slot        // its row sums scale the bias; nil: they are 1
	below          sparse       // the op of the forward product's X, if it is sparse; or nil
	source         sparseSource // the op of A, if its value can be a sparse matrix too; or nil
}

// productRun is the state of a product in a run.
type productRun struct {
	size       plan.Product
	products   rowProducts
	set        rowSet         // rows of the forward product's output that may differ from zero
	transposed graph.CSR      // memory of the transpose of a sparse A
	placedBias device.Pointer // on a device
	scale      device.Pointer // of the bias, on a device
}

func (op *product) of(r *plan.Run) *productRun { return plan.StateOf[productRun](r, op, nil) }

var _ gatherer = (*product)(nil)

func (op *product) gathers(source G.Op) bool { return op.source != nil && source == G.Op(op.source) }

// Product returns the dense product of r, for benchmarks.
func (op *product) Product(r *plan.Run) plan.Product { return op.of(r).size }

func (op *product) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	if op.source != nil {
		if rows := op.source.sparseRows(r); rows != nil {
			return op.computeSparse(r, out, rows, in)
		}
	}
	a, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	b, err := matrixOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	rows, inner := a.rows, a.cols
	if op.transA {
		rows, inner = a.cols, a.rows
	}
	innerB, cols := b.rows, b.cols
	if op.transB {
		innerB, cols = b.cols, b.rows
	}
	if inner != innerB {
		return nil, fmt.Errorf("ops: %s: (%d, %d) times (%d, %d): %w", op.name, rows, inner, innerB, cols, ErrShape)
	}
	value, data := out.Matrix(rows, cols)
	if op.transA {
		op.backW(r, a, b, data)
		return value, nil
	}
	var bias, scale []float32
	if op.bias {
		if bias, err = vectorOf(op.name, in[2], cols); err != nil {
			return nil, err
		}
		if scale, err = rowSums(r, op.name, op.slot, rows); err != nil {
			return nil, err
		}
	}
	op.byRows(r, a, b, cols, bias, scale, data)
	return value, nil
}

// computeSparse is Compute for a sparse A: A·B with its bias, or Aᵀ·B.
func (op *product) computeSparse(r *plan.Run, out *plan.Buffer, a *graph.CSR, in []G.Value) (G.Value, error) {
	b, err := matrixOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	s := op.of(r)
	s.size = plan.Product{} // no dense product
	if op.transA {
		if a.Rows != b.rows {
			return nil, fmt.Errorf("ops: %s: (%d, %d) times (%d, %d): %w", op.name, a.Cols, a.Rows, b.rows, b.cols, ErrShape)
		}
		a.TransposeInto(&s.transposed)
		value, data := out.Matrix(a.Cols, b.cols)
		kernel.SpMM(data, &s.transposed, b.data, b.cols)
		return value, nil
	}
	if a.Cols != b.rows {
		return nil, fmt.Errorf("ops: %s: (%d, %d) times (%d, %d): %w", op.name, a.Rows, a.Cols, b.rows, b.cols, ErrShape)
	}
	var bias, scale []float32
	if op.bias {
		if bias, err = vectorOf(op.name, in[2], b.cols); err != nil {
			return nil, err
		}
		if scale, err = rowSums(r, op.name, op.slot, a.Rows); err != nil {
			return nil, err
		}
	}
	op.keepRows(r, a.Rows, bias, scale)
	value, data := out.Matrix(a.Rows, b.cols)
	kernel.SpMMBias(data, a, b.data, b.cols, bias, scale)
	return value, nil
}

// byRows sets c to A·op(B) + scale⊗bias. It leaves out rows of A that are zero.
func (op *product) byRows(r *plan.Run, a, b matrix, cols int, bias, scale, c []float32) {
	if !op.transB {
		op.keepRows(r, a.rows, bias, scale)
	}
	rows, s := rowsToCompute(r, op.below, a.rows), op.of(r)
	s.size = plan.Product{TransB: op.transB, M: a.rows, N: cols, K: a.cols}
	if rows != nil {
		s.size.M = len(rows)
		fillOthers(c, rows, a.rows, cols, bias, scale)
	}
	s.products.multiplyRows(op.blas, rows, op.transB, a, b, bias, scale, c, cols)
}

// keepRows finds the rows of the output that may differ from zero: the rows of A that may,
// and those with a scaled bias.
func (op *product) keepRows(r *plan.Run, rows int, bias, scale []float32) {
	var below []int32
	if op.below != nil {
		below = op.below.nonzero(r)
	}
	set := &op.of(r).set
	switch {
	case below == nil || bias != nil && scale == nil:
		set.all = true
	case bias == nil:
		set.rows, set.all = append(set.rows[:0], below...), false
	default:
		set.collect(rows, func(i int) bool {
			for len(below) > 0 && int(below[0]) < i {
				below = below[1:]
			}
			return scale[i] != 0 || len(below) > 0 && int(below[0]) == i
		})
	}
}

func (op *product) nonzero(r *plan.Run) []int32 {
	if op.transA || op.transB {
		return nil
	}
	return op.of(r).set.nonzero()
}

// backW sets c to Aᵀ·B. It leaves out rows of A that are zero.
func (op *product) backW(r *plan.Run, a, b matrix, c []float32) {
	over, s := rowsToCompute(r, op.below, a.rows), op.of(r)
	s.size = plan.Product{TransA: true, M: a.cols, N: b.cols, K: a.rows}
	if over != nil {
		s.size.K = len(over)
	}
	s.products.multiplyOver(op.blas, over, a, b, c)
}

// rowSums returns the row sums of slot's block in r, or nil without a slot. what names the op
// in the error.
func rowSums(r *plan.Run, what string, slot *Slot, rows int) ([]float32, error) {
	if slot == nil {
		return nil, nil
	}
	b, err := plan.In(r, slot).current(what)
	if err != nil {
		return nil, err
	}
	if len(b.RowSums) != rows {
		return nil, fmt.Errorf("ops: %s: input has %d rows, its block %d output nodes: %w", what, rows, len(b.RowSums), ErrShape)
	}
	return b.RowSums, nil
}

func (op *product) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &product{base: base{name: op.name + "BackX"}, blas: op.blas, transB: true, below: gradientOf(in[0])}, grad, in[1])
	d.add(1, &product{base: base{name: op.name + "BackW"}, blas: op.blas, transA: true, below: op.below, source: op.source}, in[0], grad)
	if op.bias {
		d.add(2, &columnSums{base: base{name: op.name + "BackB"}, slot: op.slot}, grad)
	}
	return d.nodes, d.err
}

// biasAbove reports whether, on a device, the activation above adds the bias: nothing else
// reads the product in p, and the bias is an input of the graph.
func (op *product) biasAbove(p *plan.Plan) bool {
	return op.bias && op.inputs[2].Op() == nil && len(p.Readers(op.node)) == 1 && p.ReadOnlyBy(op.node, func(reader *G.Node) bool {
		_, ok := reader.Op().(*activate)
		return ok
	})
}

func (op *product) Place(p *plan.Placement) (plan.Kernel, error) {
	state, biasAbove := op.of(p.Run), op.biasAbove(p.Plan)
	d := p.Device()
	var q *placedSlot
	if op.slot != nil {
		q = slotOf(p, op.slot)
		q.needs.sums = true
	}
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		s, x, y, err := op.sizes(in)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(s.M, s.N)
		if err != nil {
			return nil, err
		}
		var beta float32
		if op.bias {
			if state.placedBias, err = in[2].Vector(op.name, s.N); err != nil {
				return nil, err
			}
			if state.scale, err = q.rowSums(op.name, s.M); err != nil {
				return nil, err
			}
			if !biasAbove {
				if err := d.BiasRows(to, state.placedBias, state.scale, s.M, s.N); err != nil {
					return nil, err
				}
				beta = 1
			}
		}
		state.size = s
		return value, d.Sgemm(s.TransA, s.TransB, s.M, s.N, s.K, x, s.Lda(), y, s.Ldb(), beta, to)
	}, nil
}

// sizes returns the size of the product and the addresses of its factors. The error wraps
// ErrShape if they do not fit.
func (op *product) sizes(in []*plan.Array) (s plan.Product, x, y device.Pointer, err error) {
	s = plan.Product{TransA: op.transA, TransB: op.transB}
	var inner int
	if s.M, s.K, x, err = in[0].Matrix(op.name); err != nil {
		return s, 0, 0, err
	}
	if op.transA {
		s.M, s.K = s.K, s.M
	}
	if inner, s.N, y, err = in[1].Matrix(op.name); err != nil {
		return s, 0, 0, err
	}
	if op.transB {
		inner, s.N = s.N, inner
	}
	if inner != s.K {
		err = fmt.Errorf("ops: %s: (%d, %d) times (%d, %d): %w", op.name, s.M, s.K, inner, s.N, ErrShape)
	}
	return s, x, y, err
}

// columnSums is Σᵢ rᵢ·Xᵢ over the rows of X. r is the row sums of slot's block, or 1
// without a slot.
type columnSums struct {
	base
	slot *Slot
}

func (op *columnSums) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	scale, err := rowSums(r, op.name, op.slot, x.rows)
	if err != nil {
		return nil, err
	}
	value, data := out.Vector(x.cols)
	kernel.ColumnSums(data, x.data, scale, x.rows, x.cols)
	return value, nil
}

func (op *columnSums) Place(p *plan.Placement) (plan.Kernel, error) {
	var q *placedSlot
	if op.slot != nil {
		q = slotOf(p, op.slot)
		q.needs.sums = true
	}
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, x, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		scale, err := q.rowSums(op.name, rows)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Vector(cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().ColumnSums(to, x, 0, scale, rows, cols)
	}, nil
}
