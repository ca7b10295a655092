package ops

import (
	"cmp"
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/blas"
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
	wantZ, wantX, wantW := tensor.Shape{c.slot.dst, c.out}, tensor.Shape{c.slot.src, c.in}, tensor.Shape{c.in, c.out}
	if !z.Shape().Eq(wantZ) || !x.Shape().Eq(wantX) || !w.Shape().Eq(wantW) {
		return nil, fmt.Errorf("ops: %s: Z is %v, X %v and W %v, want %v, %v and %v: %w", name, z.Shape(), x.Shape(), w.Shape(), wantZ, wantX, wantW, ErrShape)
	}
	backend, err := blas.Default()
	if err != nil {
		return nil, fmt.Errorf("ops: %s: %w", name, err)
	}
	op := &linearControl{
		base:    base{name: name, slot: c.slot, parts: partMatrix},
		control: c,
		blas:    backend,
	}
	op.memory.Access = plan.OverResult
	inputs := G.Nodes{z, x, w}
	if op.bias = b != nil; op.bias {
		inputs = append(inputs, b)
	}
	if err := checkVectors(name, z, c.out, inputs[3:]...); err != nil {
		return nil, err
	}
	return apply(op, z.Shape(), inputs...)
}

type linearControl struct {
	base
	control *LinearControl
	blas    blas.BLAS
	bias    bool
}

// linearControlRun is the state of a linear control in a run.
type linearControlRun struct {
	rest, change plan.Scratch // PX − P̃X, for the gradient; (W − W̄) ⊙ 1⊗s, and (b − b̄) ⊙ s
	slopes       plan.Floats  // s
}

// OnlyTraining says that op leaves z as it is in inference.
func (op *linearControl) OnlyTraining() bool { return true }

// Operations counts the products and P̃X.
func (op *linearControl) Operations(w plan.Work) float64 {
	return 2*w.Rows*float64(op.control.in*op.control.out) + w.Sparse*float64(op.control.in)
}

func (op *linearControl) Place(r *plan.Run) error {
	slotOf(r, op.control.rows) // is sent
	return cmp.Or(op.control.px.place(r), op.control.about.place(r), op.base.Place(r))
}

func (op *linearControl) Compute(call *plan.Call) error {
	z := call.Matrix(0)
	x := call.Matrix(1)
	w := call.Matrix(2)
	c := op.control
	_, b := c.slot.of(call)
	_, of := c.rows.of(call)
	if len(of.Dst) != len(b.Dst) || z.Rows != len(b.Dst) || x.Rows != len(b.Src) || z.Cols != c.out || x.Cols != c.in || w.Rows != c.in || w.Cols != c.out {
		return call.Sizes("Z is %d×%d, X %d×%d and W %d×%d, with %d rows of P·X, for a block of %d output and %d input nodes and weights of %d×%d",
			z.Rows, z.Cols, x.Rows, x.Cols, w.Rows, w.Cols, len(of.Dst), len(b.Dst), len(b.Src), c.in, c.out)
	}
	var bias, rho plan.Floats
	if op.bias {
		bias = call.Vector(3, c.out)
		rho = c.rows.rowSums(call, z.Rows)
	}
	s := plan.StateOf[linearControlRun](call.Run, op)
	to := call.OutLike(z)
	call.Dense(plan.Product{M: z.Rows, N: c.out, K: c.in, Lda: c.in, Ldb: c.out})
	rest, change := call.Scratch(&s.rest, z.Rows*c.in), call.Scratch(&s.change, (c.in+1)*c.out)
	px := c.px.on(call)
	about := c.about.on(call)
	last := c.in * c.out
	s.slopes = about.Slice(last+c.out, last+2*c.out)
	err := call.On(func() error {
		return cmp.Or(
			call.Device.SpMM(rest.At, slotOf(call.Run, c.slot).matrix, 0, x.At, c.in),
			call.Device.ScaledDifference(rest.At, px.At, slotOf(call.Run, c.rows).dst, rest.At, 0, z.Rows, c.in),
			call.Device.Copy(to.At, z.At, z.Rows*z.Cols),
		)
	}, func() {
		kernel.SpMM(rest.Data, &b.Matrix, x.Data, c.in)
		for i, row := range of.Dst {
			out := rest.Data[i*c.in:][:c.in]
			for j, v := range px.Data[int(row)*c.in:][:c.in] {
				out[j] = v - out[j]
			}
		}
		if !call.Over {
			copy(to.Data, z.Data)
		}
	})
	err = cmp.Or(err, scaledDifference(call, change, w.Floats, about, s.slopes, c.in, c.out), op.multiply(call, false, c.in, rest, change, 1, to))
	if err != nil || !op.bias {
		return err
	}
	change = change.Slice(last, last+c.out)
	return cmp.Or(scaledDifference(call, change, bias, about.Slice(last, last+c.out), s.slopes, 1, c.out), op.multiply(call, false, 1, rho, change, 1, to))
}

// multiply sets to to A·B + beta·to, with Aᵀ in place of A if transA is true. Its sums have k terms.
func (op *linearControl) multiply(c *plan.Call, transA bool, k int, a, b plan.Floats, beta float32, to plan.Matrix) error {
	lda := k
	if transA {
		lda = to.Rows
	}
	return c.On(func() error {
		return c.Device.Sgemm(transA, false, to.Rows, to.Cols, k, a.At, lda, b.At, to.Cols, beta, to.At)
	}, func() {
		op.blas.Sgemm(transA, false, to.Rows, to.Cols, k, 1, a.Data, lda, b.Data, to.Cols, beta, to.Data, to.Cols)
	})
}

// scaledDifference sets dst to (a − b) ⊙ 1⊗scale; no b is 0. dst may be a.
func scaledDifference(c *plan.Call, dst, a, b, scale plan.Floats, rows, cols int) error {
	return c.On(func() error {
		return c.Device.ScaledDifference(dst.At, a.At, 0, b.At, scale.At, rows, cols)
	}, func() {
		for i := 0; i < rows*cols; i += cols {
			for j, factor := range scale.Data[:cols] {
				v := a.Data[i+j]
				if b.Data != nil {
					v -= b.Data[i+j]
				}
				dst.Data[i+j] = v * factor
			}
		}
	})
}

// differentiate returns the upstream gradient for Z, without a copy.
func (op *linearControl) differentiate(d *gradients, out, grad *G.Node) {
	d.pass(0, grad)
	d.add(2, op.backward("BackW", op.backW), out, grad)
	if op.bias {
		d.add(3, op.backward("BackB", op.backB), out, grad)
	}
}

func (op *linearControl) backW(call *plan.Call) error {
	c, s := op.control, plan.StateOf[linearControlRun](call.Run, op)
	grad := upstream(call, 1)
	to := call.OutMatrix(c.in, c.out)
	call.Dense(plan.Product{TransA: true, M: c.in, N: c.out, K: grad.Rows, Lda: c.in, Ldb: c.out})
	return cmp.Or(op.multiply(call, true, grad.Rows, s.rest.Floats, grad.Floats, 0, to), scaledDifference(call, to.Floats, to.Floats, plan.Floats{}, s.slopes, c.in, c.out))
}

func (op *linearControl) backB(call *plan.Call) error {
	to, err := sumColumns(call, upstream(call, 1), op.control.rows)
	return cmp.Or(err, scaledDifference(call, to, to, plan.Floats{}, plan.StateOf[linearControlRun](call.Run, op).slopes, 1, op.control.out))
}
