package ops

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
	"gorgonia.org/vecf32"
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
	if err := checkMatrix(name, z, x, w); err != nil {
		return nil, err
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
	op := &linearControl{base: base{name: name, slot: c.slot, parts: partMatrix}, control: c, blas: backend}
	if b == nil {
		return apply(op, z.Shape(), z, x, w)
	}
	if err := checkVectors(name, z, c.out, b); err != nil {
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
	size                     plan.Product
	rest                     plan.Floats // PX − P̃X, for the gradient
	rows                     int         // of it
	restMemory, changeMemory plan.Scratch
	px, about                *placedHistory // on a device
}

// OnlyTraining says that op leaves z as it is in inference.
func (op *linearControl) OnlyTraining() bool { return true }

// Operations counts the products and P̃X.
func (op *linearControl) Operations(w plan.Work) float64 {
	return 2*w.Rows*float64(op.control.in*op.control.out) + w.Sparse*float64(op.control.in)
}

func (op *linearControl) of(r *plan.Run) *linearControlRun {
	return plan.StateOf[linearControlRun](r, op, nil)
}

func (op *linearControl) Memory(*plan.Plan) plan.Memory {
	return plan.Memory{Result: plan.InBuffer, Over: plan.Over{Input: 0, By: plan.ByResult}}
}

// Product returns the dense product of r, for benchmarks.
func (op *linearControl) Product(r *plan.Run) plan.Product { return op.of(r).size }

func (op *linearControl) Place(r *plan.Run) (err error) {
	c, s := op.control, op.of(r)
	slotOf(r, c.rows).needs |= partDst | partSums
	if s.px, err = placeHistory(r, c.px); err == nil {
		s.about, err = placeHistory(r, c.about)
	}
	return cmp.Or(err, op.base.Place(r))
}

func (op *linearControl) Compute(call *plan.Call) error {
	z, x, w, c := call.Matrix(0), call.Matrix(1), call.Matrix(2), op.control
	_, b := c.slot.of(call)
	_, of := c.rows.of(call)
	if len(of.Dst) != len(b.Dst) || z.Rows != len(b.Dst) || x.Rows != len(b.Src) || z.Cols != c.out || x.Cols != c.in || w.Rows != c.in || w.Cols != c.out {
		return call.Sizes("Z is %d×%d, X %d×%d and W %d×%d, with %d rows of P·X, for a block of %d output and %d input nodes and weights of %d×%d",
			z.Rows, z.Cols, x.Rows, x.Cols, w.Rows, w.Cols, len(of.Dst), len(b.Dst), len(b.Src), c.in, c.out)
	}
	var bias, rho plan.Floats
	if op.bias {
		bias, rho = call.Vector(3, c.out), c.rows.rowSums(call, z.Rows)
	}
	s, to := op.of(call.Run), call.OutMatrix(z.Rows, z.Cols)
	s.rows, s.size = z.Rows, plan.Product{M: z.Rows, N: c.out, K: c.in}
	s.rest = call.Scratch(&s.restMemory, z.Rows*c.in)
	change := call.Scratch(&s.changeMemory, (c.in+1)*c.out) // (W − W̄) ⊙ 1⊗s, and (b − b̄) ⊙ s
	return call.On(func(d *device.Device) error {
		return op.onDevice(call, d, [5]device.Pointer{z.At, x.At, w.At, bias.At, rho.At}, change.At, to)
	}, func() {
		kernel.SpMM(s.rest.Data, &b.Matrix, x.Data, c.in)
		px := c.px.Values()
		for i, row := range of.Dst {
			subtract(s.rest.Data[i*c.in:(i+1)*c.in], px[int(row)*c.in:(int(row)+1)*c.in])
		}
		about, slopes := c.about.Values(), c.slopes()
		for i := 0; i < len(w.Data); i += c.out {
			scaleDifference(change.Data[i:i+c.out], w.Data[i:i+c.out], about[i:i+c.out], slopes)
		}
		if !call.Over {
			copy(to.Data, z.Data)
		}
		op.blas.Sgemm(false, false, z.Rows, c.out, c.in, 1, s.rest.Data, c.in, change.Data, c.out, 1, to.Data, c.out)
		if !op.bias {
			return
		}
		last := change.Data[len(w.Data):]
		scaleDifference(last, bias.Data, about[c.in*c.out:], slopes)
		op.blas.Sgemm(false, false, z.Rows, c.out, 1, 1, rho.Data, 1, last, c.out, 1, to.Data, c.out)
	})
}

// onDevice computes op on d from the inputs Z, X, W, b and ρ.
func (op *linearControl) onDevice(call *plan.Call, d *device.Device, in [5]device.Pointer, change device.Pointer, to plan.Matrix) error {
	c, s := op.control, op.of(call.Run)
	rest, slopes := s.rest.At, s.about.slopes(c)
	err := cmp.Or(
		s.px.current(), s.about.current(),
		d.SpMM(rest, slotOf(call.Run, c.slot).matrix, 0, in[1], c.in),
		d.ScaledDifference(rest, s.px.at, slotOf(call.Run, c.rows).dst, rest, 0, to.Rows, c.in),
		d.ScaledDifference(change, in[2], 0, s.about.at, slopes, c.in, c.out),
		d.Copy(to.At, in[0], to.Rows*to.Cols),
		d.Sgemm(false, false, to.Rows, c.out, c.in, rest, c.in, change, c.out, 1, to.At),
	)
	if err != nil || !op.bias {
		return err
	}
	last := device.Floats(change, c.in*c.out)
	return cmp.Or(
		d.ScaledDifference(last, in[3], 0, device.Floats(s.about.at, c.in*c.out), slopes, 1, c.out),
		d.Sgemm(false, false, to.Rows, c.out, 1, in[4], 1, last, c.out, 1, to.At),
	)
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

// slopes returns the address of s, of the constants of c.
func (s *placedHistory) slopes(c *LinearControl) device.Pointer {
	return device.Floats(s.at, (c.in+1)*c.out)
}

// SymDiff returns the upstream gradient for Z, without a copy. The output is an input of the
// other gradients only for the order, as in activate.
func (op *linearControl) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.pass(0, grad)
	d.add(2, &linearControlBack{base: base{name: op.name + "BackW"}, forward: op}, out, grad)
	if op.bias {
		d.add(3, &linearControlBackB{base{name: op.name + "BackB", slot: op.control.rows, parts: partSums}, op}, out, grad)
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

func (op *linearControlBack) Compute(call *plan.Call) error {
	f, s, c := op.forward.of(call.Run), op.of(call.Run), op.forward.control
	grad, to := upstream(call, 1, f.rows, c.out), call.OutMatrix(c.in, c.out)
	s.size = plan.Product{TransA: true, M: c.in, N: c.out, K: grad.Rows}
	return call.On(func(d *device.Device) error {
		return cmp.Or(
			d.Sgemm(true, false, c.in, c.out, grad.Rows, f.rest.At, c.in, grad.At, c.out, 0, to.At),
			d.ScaledDifference(to.At, to.At, 0, 0, f.about.slopes(c), c.in, c.out),
		)
	}, func() {
		s.products.multiplyOver(op.forward.blas, nil, plan.Matrix{Rows: grad.Rows, Cols: c.in, Floats: f.rest}, grad, to.Data)
		for i := 0; i < len(to.Data); i += c.out {
			vecf32.Mul(to.Data[i:i+c.out], c.slopes())
		}
	})
}

// linearControlBackB is the gradient of b.
type linearControlBackB struct {
	base
	forward *linearControl
}

func (op *linearControlBackB) Compute(call *plan.Call) error {
	f, c := op.forward.of(call.Run), op.forward.control
	grad := upstream(call, 1, f.rows, c.out)
	rho, to := c.rows.rowSums(call, grad.Rows), call.OutVector(c.out)
	return call.On(func(d *device.Device) error {
		return cmp.Or(
			d.ColumnSums(to.At, grad.At, 0, rho.At, grad.Rows, c.out),
			d.ScaledDifference(to.At, to.At, 0, 0, f.about.slopes(c), 1, c.out),
		)
	}, func() {
		kernel.ColumnSums(to.Data, grad.Data, rho.Data, grad.Rows, c.out)
		vecf32.Mul(to.Data, c.slopes())
	})
}
