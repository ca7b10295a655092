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

// LinearControl holds the constants of AddLinearControl: P·X for the nodes that can be output
// nodes, and the weights W̄, the bias b̄ and the slopes s about which the layer below is
// linearised. Its owner fills them.
//
// It belongs to one graph and to the goroutine that runs its machine.
type LinearControl struct {
	slot    *Slot    // P̃
	rows    *Slot    // the block's output nodes, as rows of px, and ρ
	px      *History // nodes×in
	about   *History // W̄, in×out, and the rows b̄ and s
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
		about: &History{nodes: in + 2, width: out, refreshed: true},
	}, nil
}

// Bytes returns the size of the constants, also before they are allocated.
func (c *LinearControl) Bytes() int64 { return c.px.Bytes() + c.about.Bytes() }

// SetPropagated sets rows of P·X from the first one on. A GPU copies the changed rows at the
// next run.
func (c *LinearControl) SetPropagated(first int, rows []float32) { c.px.SetRows(first, rows) }

// SetPoint sets W̄, b̄ and s, of in·out, out and out values. It copies them. A nil b̄ is 0.
func (c *LinearControl) SetPoint(w, b, s []float32) error {
	if b == nil {
		b = make([]float32, c.out)
	}
	if len(w) != c.in*c.out || len(b) != c.out || len(s) != c.out {
		return fmt.Errorf("ops: LinearControl: %d weights, %d biases and %d slopes for %d×%d: %w", len(w), len(b), len(s), c.in, c.out, ErrShape)
	}
	c.about.SetRows(0, w)
	c.about.SetRows(c.in, b)
	c.about.SetRows(c.in+1, s)
	return nil
}

// SetRows sets, for each output node of the block of the next runs, its row of P·X and its
// element of ρ. The slices must not change until the runs have ended. After an error, which
// wraps graph.ErrInvalid, they are the old ones.
func (c *LinearControl) SetRows(rows []int32, rho []float32) error {
	for i, r := range rows {
		if r < 0 || int(r) >= c.px.nodes {
			return fmt.Errorf("ops: LinearControl: output node %d has the row %d of P·X, outside [0, %d): %w", i, r, c.px.nodes, graph.ErrInvalid)
		}
	}
	return c.rows.SetRows(rows, rho)
}

// slopes returns s.
func (c *LinearControl) slopes() []float32 { return c.about.Values()[(c.in+1)*c.out:] }

// AddLinearControl returns
//
//	Z + ((PX − P̃X)·(W − W̄) + ρ⊗(b − b̄)) ⊙ 1⊗s,  ρ = Pr − P̃r,
//
// for Z of shape (len(Dst), out), constant X of shape (len(Src), in), W of shape (in, out) and b
// of length out. P̃ is the matrix of the block of c's slot; PX and ρ are c's, for the output
// nodes. A nil b leaves out its part. The added term has mean 0 over the draws if E[P̃] = P, for
// all values of the others.
//
// Let Z be P̃(H − H̄) + PH̄ with H = act(XW + r⊗b), and s the mean slope of act at XW̄ + r⊗b̄. To
// first order, H − H̄ is (X(W − W̄) + r⊗(b − b̄)) ⊙ 1⊗s, so the term takes the place of this part
// of Z by its exact value. It does the same for the parts of ∂L/∂W and ∂L/∂b that flow through H.
//
// Z, W and b have gradients: ∂L/∂Z = G, ∂L/∂W = (PX − P̃X)ᵀG ⊙ 1⊗s and ∂L/∂b = ρᵀG ⊙ s for
// G = ∂L/∂out. The error wraps ErrShape if the shapes do not fit. Cost: 2·len(Dst)·in·out
// multiply-adds with the gradients, and O(NNZ·in).
func AddLinearControl(c *LinearControl, z, x, w, b *G.Node) (*G.Node, error) {
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
	op := &linearControl{base: base{name: name}, control: c, blas: backend}
	if b == nil {
		return apply(op, z.Shape(), z, x, w)
	}
	if err := checkNodes(name, z, b); err != nil {
		return nil, err
	}
	if err := checkVector(name, b, c.out); err != nil {
		return nil, err
	}
	op.bias = true
	return apply(op, z.Shape(), z, x, w, b)
}

type linearControl struct {
	base
	control *LinearControl
	blas    blas.BLAS
	bias    bool
}

// linearControlRun is the state of a linear control in a run.
type linearControlRun struct {
	size   plan.Product
	rest   []float32 // PX − P̃X, for the gradient
	rows   int       // of it
	change []float32 // (W − W̄) ⊙ 1⊗s, and (b − b̄) ⊙ s

	placed struct { // on a device
		about *placedHistory
		rest  device.Pointer
	}
}

// OnlyTraining says that op leaves z as it is in inference.
func (op *linearControl) OnlyTraining() bool { return true }

func (op *linearControl) of(r *plan.Run) *linearControlRun {
	return plan.StateOf[linearControlRun](r, op, nil)
}

func (op *linearControl) Memory(*plan.Plan) plan.Memory {
	return plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 0, By: plan.ByResult}}
}

// Product returns the dense product of r, for benchmarks.
func (op *linearControl) Product(r *plan.Run) plan.Product { return op.of(r).size }

// check returns the current block and the rows of P·X, if inputs of these sizes fit them.
func (op *linearControl) check(r *plan.Run, zRows, zCols, xRows, xCols, wRows, wCols int) (b, rows *graph.Block, err error) {
	c := op.control
	if b, err = plan.In(r, c.slot).current(op.name); err != nil {
		return nil, nil, err
	}
	if rows, err = plan.In(r, c.rows).current(op.name); err != nil {
		return nil, nil, err
	}
	if len(rows.Dst) != len(b.Dst) || zRows != len(b.Dst) || xRows != len(b.Src) || zCols != c.out || xCols != c.in || wRows != c.in || wCols != c.out {
		return nil, nil, fmt.Errorf("ops: %s: Z is %d×%d, X %d×%d and W %d×%d, with %d rows of P·X, for a block of %d output and %d input nodes and weights of %d×%d: %w",
			op.name, zRows, zCols, xRows, xCols, wRows, wCols, len(rows.Dst), len(b.Dst), len(b.Src), c.in, c.out, ErrShape)
	}
	return b, rows, nil
}

func (op *linearControl) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	var m [3]matrix
	for k := range m {
		var err error
		if m[k], err = matrixOf(op.name, in[k]); err != nil {
			return nil, err
		}
	}
	z, x, w, c := m[0], m[1], m[2], op.control
	b, of, err := op.check(r, z.rows, z.cols, x.rows, x.cols, w.rows, w.cols)
	if err != nil {
		return nil, err
	}
	s := op.of(r)
	s.rows, s.rest = z.rows, scratch(s.rest, z.rows*c.in)
	kernel.SpMM(s.rest, &b.Matrix, x.data, c.in)
	px := c.px.Values()
	for i, row := range of.Dst {
		subtract(s.rest[i*c.in:(i+1)*c.in], px[int(row)*c.in:(int(row)+1)*c.in])
	}
	about, slopes := c.about.Values(), c.slopes()
	s.change = scratch(s.change, len(w.data)+c.out)
	for i := 0; i < len(w.data); i += c.out {
		scaleDifference(s.change[i:i+c.out], w.data[i:i+c.out], about[i:i+c.out], slopes)
	}
	value, data := in[0], z.data
	if !out.Over {
		var own []float32
		value, own = out.Matrix(z.rows, z.cols)
		copy(own, data)
		data = own
	}
	s.size = plan.Product{M: z.rows, N: c.out, K: c.in}
	op.blas.Sgemm(false, false, z.rows, c.out, c.in, 1, s.rest, c.in, s.change, c.out, 1, data, c.out)
	if !op.bias {
		return value, nil
	}
	bias, err := vectorOf(op.name, in[3], c.out)
	if err != nil {
		return nil, err
	}
	last := s.change[len(w.data):]
	scaleDifference(last, bias, about[c.in*c.out:], slopes)
	op.blas.Sgemm(false, false, z.rows, c.out, 1, 1, of.RowSums, 1, last, c.out, 1, data, c.out)
	return value, nil
}

// scaleDifference sets dst to (a − b)·scale, element by element.
func scaleDifference(dst, a, b, scale []float32) {
	a, b, scale = a[:len(dst)], b[:len(dst)], scale[:len(dst)]
	for j := range dst {
		dst[j] = (a[j] - b[j]) * scale[j]
	}
}

// subtract sets x to y − x.
func subtract(x, y []float32) {
	for j, v := range y[:len(x)] {
		x[j] = v - x[j]
	}
}

func (op *linearControl) Place(p *plan.Placement) (plan.Kernel, error) {
	c, d, s := op.control, p.Device(), op.of(p.Run)
	state := &s.placed
	q, rows := slotOf(p, c.slot), slotOf(p, c.rows)
	q.needs.matrix, rows.needs.dst, rows.needs.sums = true, true, rows.needs.sums || op.bias
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
		if _, _, err := op.check(p.Run, zRows, zCols, xRows, xCols, wRows, wCols); err != nil {
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
		change, err := changeMemory.Floats((c.in + 1) * c.out)
		if err != nil {
			return nil, err
		}
		state.rest, s.rows = rest, zRows
		if err := d.SpMM(rest, q.matrix, 0, x, c.in); err != nil {
			return nil, err
		}
		if err := d.ScaledDifference(rest, px.at, rows.dst, rest, 0, zRows, c.in); err != nil {
			return nil, err
		}
		if err := d.ScaledDifference(change, w, 0, state.about.at, state.about.slopes(c), c.in, c.out); err != nil {
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
		s.size = plan.Product{M: zRows, N: c.out, K: c.in}
		if err := d.Sgemm(false, false, zRows, c.out, c.in, rest, c.in, change, c.out, 1, to); err != nil || !op.bias {
			return value, err
		}
		bias, err := in[3].Vector(op.name, c.out)
		if err != nil {
			return nil, err
		}
		last := device.Floats(change, c.in*c.out)
		if err := d.ScaledDifference(last, bias, 0, device.Floats(state.about.at, c.in*c.out), state.about.slopes(c), 1, c.out); err != nil {
			return nil, err
		}
		return value, d.Sgemm(false, false, zRows, c.out, 1, rows.sums, 1, last, c.out, 1, to)
	}, nil
}

// slopes returns the address of s, of the constants of c.
func (s *placedHistory) slopes(c *LinearControl) device.Pointer {
	return device.Floats(s.at, (c.in+1)*c.out)
}

// SymDiff returns the upstream gradient for Z, without a copy. The output is an input of W's
// gradient only for the order, as in activate.
func (op *linearControl) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.pass(0, grad)
	d.add(2, &linearControlBack{base: base{name: op.name + "BackW"}, forward: op}, out, grad)
	if op.bias {
		d.add(3, &linearControlBackB{base: base{name: op.name + "BackB"}, control: op.control}, grad)
	}
	return d.nodes, d.err
}

// linearControlBack is the gradient of W.
type linearControlBack struct {
	base
	forward *linearControl
}

func (op *linearControlBack) of(r *plan.Run) *productRun { return plan.StateOf[productRun](r, op, nil) }

// Product returns the dense product of r, for benchmarks.
func (op *linearControlBack) Product(r *plan.Run) plan.Product { return op.of(r).size }

// check returns an error if a gradient of these sizes does not fit the run's output.
func (op *linearControlBack) check(r *plan.Run, rows, cols int) error {
	c, want := op.forward.control, op.forward.of(r).rows
	if rows != want || cols != c.out {
		return fmt.Errorf("ops: AddLinearControl: gradient is %d×%d, its output %d×%d: %w", rows, cols, want, c.out, ErrShape)
	}
	op.of(r).size = plan.Product{TransA: true, M: c.in, N: c.out, K: rows}
	return nil
}

func (op *linearControlBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.forward.name, in[1])
	if err != nil {
		return nil, err
	}
	if err := op.check(r, grad.rows, grad.cols); err != nil {
		return nil, err
	}
	c := op.forward.control
	value, data := out.Matrix(c.in, c.out)
	op.of(r).products.multiplyOver(op.forward.blas, nil, matrix{grad.rows, c.in, op.forward.of(r).rest}, grad, data)
	slopes := c.slopes()
	for i := 0; i < len(data); i += c.out {
		row := data[i : i+c.out]
		for j, s := range slopes {
			row[j] *= s
		}
	}
	return value, nil
}

func (op *linearControlBack) Place(p *plan.Placement) (plan.Kernel, error) {
	state := &op.forward.of(p.Run).placed
	d, c := p.Device(), op.forward.control
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, grad, err := in[1].Matrix(op.forward.name)
		if err != nil {
			return nil, err
		}
		if err := op.check(p.Run, rows, cols); err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(c.in, c.out)
		if err != nil {
			return nil, err
		}
		s := op.of(p.Run).size
		if err := d.Sgemm(true, false, s.M, s.N, s.K, state.rest, s.Lda(), grad, s.Ldb(), 0, to); err != nil {
			return nil, err
		}
		return value, d.ScaledDifference(to, to, 0, 0, state.about.slopes(c), c.in, c.out)
	}, nil
}

// linearControlBackB is the gradient of b.
type linearControlBackB struct {
	base
	control *LinearControl
}

func (op *linearControlBackB) check(cols int) error {
	if cols != op.control.out {
		return fmt.Errorf("ops: AddLinearControl: gradient has %d columns, its output %d: %w", cols, op.control.out, ErrShape)
	}
	return nil
}

func (op *linearControlBackB) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.name, in[0])
	if err == nil {
		err = op.check(grad.cols)
	}
	if err != nil {
		return nil, err
	}
	rho, err := rowSums(r, op.name, op.control.rows, grad.rows)
	if err != nil {
		return nil, err
	}
	value, data := out.Vector(grad.cols)
	kernel.ColumnSums(data, grad.data, rho, grad.rows, grad.cols)
	for j, s := range op.control.slopes() {
		data[j] *= s
	}
	return value, nil
}

func (op *linearControlBackB) Place(p *plan.Placement) (plan.Kernel, error) {
	d, rows := p.Device(), slotOf(p, op.control.rows)
	rows.needs.sums = true
	about, err := placeHistory(p, op.control.about)
	if err != nil {
		return nil, err
	}
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		n, cols, grad, err := in[0].Matrix(op.name)
		if err == nil {
			err = op.check(cols)
		}
		if err != nil {
			return nil, err
		}
		rho, err := rows.rowSums(op.name, n)
		if err != nil {
			return nil, err
		}
		if err := about.current(); err != nil {
			return nil, err
		}
		value, to, err := out.Vector(cols)
		if err != nil {
			return nil, err
		}
		if err := d.ColumnSums(to, grad, 0, rho, n, cols); err != nil {
			return nil, err
		}
		return value, d.ScaledDifference(to, to, 0, 0, about.slopes(op.control), 1, cols)
	}, nil
}
