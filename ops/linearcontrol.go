package ops

import (
	"fmt"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LinearControl holds the constants of AddLinearControl: P·X for the nodes that can be output
// nodes, and the weights W̄ and slopes s about which the layer below is linearised. Its owner
// fills them.
//
// It belongs to one graph and to the goroutine that runs its machine.
type LinearControl struct {
	slot    *Slot    // P̃
	rows    *Slot    // the block's output nodes, as rows of px
	px      *History // nodes×in
	about   *History // W̄, in×out, and a last row s
	in, out int
}

// NewLinearControl returns a control for the blocks of slot. It has nodes rows of P·X, and
// (in, out) is the shape of W. Memory: 4·nodes·in bytes, allocated at the first SetPropagated.
func NewLinearControl(slot *Slot, nodes, in, out int) (*LinearControl, error) {
	if slot == nil || nodes <= 0 || in <= 0 || out <= 0 {
		return nil, fmt.Errorf("ops: LinearControl needs a slot and positive sizes, got %d nodes and %d×%d weights: %w", nodes, in, out, ErrShape)
	}
	return &LinearControl{
		slot: slot, rows: NewSlot(slot.dst, slot.dst), in: in, out: out,
		px:    &History{nodes: nodes, width: in, refreshed: true},
		about: &History{nodes: in + 1, width: out, refreshed: true},
	}, nil
}

// Bytes returns the size of the constants, also before they are allocated.
func (c *LinearControl) Bytes() int64 { return c.px.Bytes() + c.about.Bytes() }

// SetPropagated sets rows of P·X from the first one on. A GPU copies the changed rows at the
// next run.
func (c *LinearControl) SetPropagated(first int, rows []float32) { c.px.SetRows(first, rows) }

// SetPoint sets W̄ and s, of in·out and out values. It copies both.
func (c *LinearControl) SetPoint(w, s []float32) error {
	if len(w) != c.in*c.out || len(s) != c.out {
		return fmt.Errorf("ops: LinearControl: %d weights and %d slopes for %d×%d: %w", len(w), len(s), c.in, c.out, ErrShape)
	}
	c.about.SetRows(0, w)
	c.about.SetRows(c.in, s)
	return nil
}

// SetRows sets, for each output node of the block of the next runs, its row of P·X. The slice
// must not change until the runs have ended. After an error, which wraps graph.ErrInvalid, the
// rows are the old ones.
func (c *LinearControl) SetRows(rows []int32) error {
	for i, r := range rows {
		if r < 0 || int(r) >= c.px.nodes {
			return fmt.Errorf("ops: LinearControl: output node %d has the row %d of P·X, outside [0, %d): %w", i, r, c.px.nodes, graph.ErrInvalid)
		}
	}
	sums := scratch(c.rows.rows.RowSums, len(rows))
	clear(sums)
	return c.rows.SetRows(rows, sums)
}

// AddLinearControl returns
//
//	Z + (PX − P̃X)·((W − W̄) ⊙ 1⊗s)
//
// for Z of shape (len(Dst), out), constant X of shape (len(Src), in) and W of shape (in, out).
// P̃ is the matrix of the block of c's slot, and PX are the rows of c for the output nodes. The
// added term has mean 0 over the draws if E[P̃] = P, for all W, W̄ and s.
//
// Let Z be P̃(H − H̄) + PH̄ with H = act(XW), and s the mean slope of act at XW̄. To first
// order, H − H̄ is X(W − W̄) ⊙ 1⊗s, so the term takes the place of this part of Z by its exact
// value. It does the same for the part of ∂L/∂W that flows through H.
//
// Z and W have gradients: ∂L/∂Z = ∂L/∂out and ∂L/∂W = (PX − P̃X)ᵀ·∂L/∂out ⊙ 1⊗s. The error
// wraps ErrShape if the shapes do not fit. Cost: 2·len(Dst)·in·out multiply-adds with the
// gradient, and O(NNZ·in).
func AddLinearControl(c *LinearControl, z, x, w *G.Node) (*G.Node, error) {
	const name = "AddLinearControl"
	if c == nil {
		return nil, fmt.Errorf("ops: %s needs a control", name)
	}
	if err := checkNodes(name, z, x, w); err != nil {
		return nil, err
	}
	for _, n := range []*G.Node{z, x, w} {
		if err := checkMatrix(name, n); err != nil {
			return nil, err
		}
	}
	if !Constant(x) {
		return nil, fmt.Errorf("ops: %s: X is not constant, so it would need a gradient", name)
	}
	if !z.Shape().Eq(tensor.Shape{c.slot.dst, c.out}) || !x.Shape().Eq(tensor.Shape{c.slot.src, c.in}) || !w.Shape().Eq(tensor.Shape{c.in, c.out}) {
		return nil, fmt.Errorf("ops: %s: Z is %v, X %v and W %v, want (%d, %d), (%d, %d) and (%d, %d): %w", name, z.Shape(), x.Shape(), w.Shape(),
			c.slot.dst, c.out, c.slot.src, c.in, c.in, c.out, ErrShape)
	}
	backend, err := blas.Default()
	if err != nil {
		return nil, fmt.Errorf("ops: %s: %w", name, err)
	}
	return apply(&linearControl{base: newBase(z.Graph(), name, 3), of: c, blas: backend, wanted: []bool{variable(z), false, variable(w)}}, z, x, w)
}

type linearControl struct {
	base
	of     *LinearControl
	blas   blas.BLAS
	wanted []bool
	last   plan.Product

	rest   []float32 // PX − P̃X of the last run
	rows   int       // of it
	change []float32 // (W − W̄) ⊙ 1⊗s
}

func (op *linearControl) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), matrixType(), matrixType())
}

func (op *linearControl) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *linearControl) Do(in ...G.Value) (G.Value, error) {
	return op.Compute(&op.own, false, in...)
}

func (op *linearControl) Memory() plan.Memory {
	return plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 0, By: plan.ByResult}}
}

// Product returns the dense product of the last run, for benchmarks.
func (op *linearControl) Product() plan.Product { return op.last }

// check returns the current block, if inputs of these rows fit it.
func (op *linearControl) check(zRows, zCols, xRows, xCols, wRows, wCols int) (*graph.Block, error) {
	c := op.of
	b, err := c.slot.current(op.name)
	if err != nil {
		return nil, err
	}
	rows, err := c.rows.current(op.name)
	if err != nil {
		return nil, err
	}
	if len(rows.Dst) != len(b.Dst) || zRows != len(b.Dst) || xRows != len(b.Src) || zCols != c.out || xCols != c.in || wRows != c.in || wCols != c.out {
		return nil, fmt.Errorf("ops: %s: Z is %d×%d, X %d×%d and W %d×%d, with %d rows of P·X, for a block of %d output and %d input nodes and weights of %d×%d: %w",
			op.name, zRows, zCols, xRows, xCols, wRows, wCols, len(rows.Dst), len(b.Dst), len(b.Src), c.in, c.out, ErrShape)
	}
	return b, nil
}

func (op *linearControl) Compute(out *plan.Buffer, over bool, in ...G.Value) (G.Value, error) {
	var m [3]matrix
	for k := range m {
		var err error
		if m[k], err = matrixOf(op.name, in[k]); err != nil {
			return nil, err
		}
	}
	z, x, w, c := m[0], m[1], m[2], op.of
	b, err := op.check(z.rows, z.cols, x.rows, x.cols, w.rows, w.cols)
	if err != nil {
		return nil, err
	}
	op.rows, op.rest = z.rows, scratch(op.rest, z.rows*c.in)
	kernel.SpMM(op.rest, &b.Matrix, x.data, c.in)
	px := c.px.Values()
	for i, r := range c.rows.block.Dst {
		subtract(op.rest[i*c.in:(i+1)*c.in], px[int(r)*c.in:(int(r)+1)*c.in])
	}
	about := c.about.Values()
	op.change = scratch(op.change, len(w.data))
	slopes := about[c.in*c.out:]
	for i := 0; i < len(w.data); i += c.out {
		to, now, then := op.change[i:i+c.out], w.data[i:i+c.out], about[i:i+c.out]
		for j, s := range slopes {
			to[j] = (now[j] - then[j]) * s
		}
	}
	value, data := in[0], z.data
	if !over {
		var own []float32
		value, own = out.Matrix(z.rows, z.cols)
		copy(own, data)
		data = own
	}
	op.last = plan.Product{M: z.rows, N: c.out, K: c.in}
	op.blas.Sgemm(false, false, z.rows, c.out, c.in, 1, op.rest, c.in, op.change, c.out, 1, data, c.out)
	return value, nil
}

// subtract sets x to y − x.
func subtract(x, y []float32) {
	for j, v := range y[:len(x)] {
		x[j] = v - x[j]
	}
}

// placedLinear is the state that a linear control shares with its gradient.
type placedLinear struct {
	about *placedHistory
	rest  device.Pointer
	rows  int
}

func (op *linearControl) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	c, d := op.of, p.Device()
	state, _ := plan.StateOf[placedLinear](p, op)
	q, rows := slotOf(p, c.slot), slotOf(p, c.rows)
	q.needs.matrix, rows.needs.dst = true, true
	px, err := placeHistory(p, c.px)
	if err != nil {
		return nil, err
	}
	if state.about, err = placeHistory(p, c.about); err != nil {
		return nil, err
	}
	restMemory, changeMemory := p.Buffer(), p.Buffer()
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		zRows, zCols, z, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		xRows, xCols, x, err := in[1].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		wRows, wCols, w, err := in[2].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if _, err := op.check(zRows, zCols, xRows, xCols, wRows, wCols); err != nil {
			return nil, err
		}
		for _, h := range []*placedHistory{px, state.about} {
			if err := h.current(); err != nil {
				return nil, err
			}
		}
		rest, err := restMemory.Floats(zRows * c.in)
		if err != nil {
			return nil, err
		}
		change, err := changeMemory.Floats(c.in * c.out)
		if err != nil {
			return nil, err
		}
		state.rest, state.rows = rest, zRows
		if err := d.SpMM(rest, q.matrix, 0, x, c.in); err != nil {
			return nil, err
		}
		if err := d.ScaledDifference(rest, px.at, rows.dst, rest, 0, zRows, c.in); err != nil {
			return nil, err
		}
		if err := d.ScaledDifference(change, w, 0, state.about.at, state.slopes(c), c.in, c.out); err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(zRows, zCols)
		if err != nil {
			return nil, err
		}
		if to != z {
			if err := d.ScaledDifference(to, z, 0, 0, 0, zRows, zCols); err != nil {
				return nil, err
			}
		}
		op.last = plan.Product{M: zRows, N: c.out, K: c.in}
		return value, d.Sgemm(false, false, zRows, c.out, c.in, rest, c.in, change, c.out, 1, to)
	}, nil
}

// slopes returns the address of s.
func (s *placedLinear) slopes(c *LinearControl) device.Pointer {
	return device.Floats(s.about.at, c.in*c.out)
}

func (op *linearControl) DiffWRT(int) []bool { return op.wanted }

// SymDiff returns the upstream gradient for Z, without a copy. The output is an input of W's
// gradient only for the order, as in activate.
func (op *linearControl) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := make(G.Nodes, 3)
	if op.wanted[0] {
		d[0] = grad
	}
	if !op.wanted[2] {
		return d, nil
	}
	back := &linearControlBack{base: newBase(grad.Graph(), "AddLinearControlBack", 2), forward: op, products: rowProducts{blas: op.blas}}
	var err error
	d[2], err = apply(back, out, grad)
	return d, err
}

// linearControlBack is the gradient of W.
type linearControlBack struct {
	base
	forward  *linearControl
	products rowProducts
	last     plan.Product
}

func (op *linearControlBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), matrixType())
}

func (op *linearControlBack) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return tensor.Shape{op.forward.of.in, op.forward.of.out}, nil
}

func (op *linearControlBack) Do(in ...G.Value) (G.Value, error) {
	return op.Compute(&op.own, false, in...)
}

func (op *linearControlBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

// Product returns the dense product of the last run, for benchmarks.
func (op *linearControlBack) Product() plan.Product { return op.last }

// check returns an error if a gradient of these sizes does not fit the last run.
func (op *linearControlBack) check(rows, cols, last int) error {
	if rows != last || cols != op.forward.of.out {
		return fmt.Errorf("ops: AddLinearControl: gradient is %d×%d, its output %d×%d: %w", rows, cols, last, op.forward.of.out, ErrShape)
	}
	c := op.forward.of
	op.last = plan.Product{TransA: true, M: c.in, N: c.out, K: rows}
	return nil
}

func (op *linearControlBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.forward.name, in[1])
	if err != nil {
		return nil, err
	}
	if err := op.check(grad.rows, grad.cols, op.forward.rows); err != nil {
		return nil, err
	}
	c := op.forward.of
	value, data := out.Matrix(c.in, c.out)
	op.products.multiplyOver(nil, matrix{grad.rows, c.in, op.forward.rest}, grad, data)
	slopes := c.about.Values()[c.in*c.out:]
	for i := 0; i < len(data); i += c.out {
		row := data[i : i+c.out]
		for j, s := range slopes {
			row[j] *= s
		}
	}
	return value, nil
}

func (op *linearControlBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	state, _ := plan.StateOf[placedLinear](p, op.forward)
	d, c := p.Device(), op.forward.of
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, grad, err := in[1].Matrix(op.forward.name)
		if err != nil {
			return nil, err
		}
		if err := op.check(rows, cols, state.rows); err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(c.in, c.out)
		if err != nil {
			return nil, err
		}
		s := op.last
		if err := d.Sgemm(true, false, s.M, s.N, s.K, state.rest, s.Lda(), grad, s.Ldb(), 0, to); err != nil {
			return nil, err
		}
		return value, d.ScaledDifference(to, to, 0, 0, state.slopes(c), c.in, c.out)
	}, nil
}
