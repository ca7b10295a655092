package ops

import (
	"fmt"
	"slices"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// AttentionOptions are the options of Attention. The zero value is one head.
type AttentionOptions struct {
	Heads   int  // 0 means 1
	Average bool // the result is the mean of the heads, not their concatenation

	// Plain leaves out the weights w: a drawn neighbour counts as if it were drawn
	// for certain.
	Plain bool

	Dropout float64 // of α, in [0, 1)
	Mode    *Mode   // required for a rate above 0
}

// Attention returns the attention of Veličković et al. (2018, arXiv:1710.10903) over the
// block of slot. Row j of z, of shape (len(Src), Heads·k), holds a vector z_j of length k
// for each head. Output node i attends to the entries j of its row of the block:
//
//	e_ij = LeakyReLU(source·z_j + target·z_i),
//	α_ij = w_ij exp(e_ij) / Σ_k w_ik exp(e_ik),
//	out_i = Σ_j dropout(α_ij) z_j + bias,
//
// with the parts of the vectors source and target, of length Heads·k, that belong to the
// head. LeakyReLU has the slope 0.2 below 0. The result has shape (len(Dst), Heads·k), or
// (len(Dst), k) with Average; bias has its width and may be nil. A row without entries is
// the bias.
//
// w_ij is the sampler's weight of the edge, times the edge's weight in A+I. With unbiased
// weights, E[w_ij] over the drawn blocks is that weight, so the numerator and the
// denominator of out_i are unbiased estimates of the sums over all neighbours, given z.
// Their ratio is not: its bias falls like 1/s with the number s of drawn neighbours, and is
// 0 if all are drawn.
//
// Each output node must be among the block's input nodes, and the block must have column
// scales and no Control; otherwise a run is an error. Cost: O(NNZ·Heads·k).
func Attention(slot *Slot, z, source, target, bias *G.Node, o AttentionOptions) (*G.Node, error) {
	if slot == nil {
		return nil, fmt.Errorf("ops: Attention needs a slot")
	}
	inputs := G.Nodes{z, source, target}
	if bias != nil {
		inputs = append(inputs, bias)
	}
	if err := checkNodes("Attention", inputs...); err != nil {
		return nil, err
	}
	if err := checkMatrix("Attention", z); err != nil {
		return nil, err
	}
	if err := checkRate("Attention", o.Dropout, o.Mode); err != nil {
		return nil, err
	}
	slot.otherReader = "Attention"
	op := &attention{base: base{name: "Attention"}, slot: slot, average: o.Average, plain: o.Plain, heads: max(o.Heads, 1)}
	rows, columns := z.Shape()[0], z.Shape()[1]
	if rows != slot.src || o.Heads < 0 || columns%op.heads != 0 {
		return nil, fmt.Errorf("ops: Attention: %d heads over %d rows of %d columns, its slot %d input nodes: %w", o.Heads, rows, columns, slot.src, ErrShape)
	}
	for k, v := range inputs[1:] {
		want := columns
		if k == 2 {
			want = op.out(columns)
		}
		if err := checkVector("Attention", v, want); err != nil {
			return nil, err
		}
	}
	if o.Dropout > 0 {
		op.rate, op.mode, op.ordinal = float32(o.Dropout), o.Mode, o.Mode.ordinal()
	}
	return apply(op, tensor.Shape{slot.dst, op.out(columns)}, inputs...)
}

type attention struct {
	base
	slot           *Slot
	heads          int
	average, plain bool
	rate           float32
	mode           *Mode // nil: no dropout
	ordinal        uint64
}

// attentionRun is the state of an attention in a run, for its gradients.
type attentionRun struct {
	kernel.Attention
	s, t, alpha []float32 // the scores of all columns and the coefficients, as in kernel.Attention
	dq, ds, dt  []float32 // their gradients

	placed struct { // the same on a device
		memory      [6]*device.Buffer
		s, t, alpha device.Pointer
		dq, ds, dt  device.Pointer
		attention   device.Attention
	}
}

func (op *attention) of(r *plan.Run) *attentionRun { return plan.StateOf[attentionRun](r, op, nil) }

// Rows says that op reads the input rows of its slot, and gives the output rows.
func (op *attention) Rows() (any, plan.RowKind) { return op.slot, plan.CrossingRows }

// out returns the width of the result for z of the given columns.
func (op *attention) out(columns int) int {
	if op.average {
		return columns / op.heads
	}
	return columns
}

// begin returns the state of r with the sizes and the dropout, for z of the given sizes.
func (op *attention) begin(r *plan.Run, rows, columns int) (*attentionRun, error) {
	edges, err := plan.In(r, op.slot).attend(op.plain)
	if err != nil {
		return nil, err
	}
	if rows != edges.Cols {
		return nil, fmt.Errorf("ops: Attention: input has %d rows, its block %d input nodes: %w", rows, edges.Cols, ErrShape)
	}
	a := op.of(r)
	a.Attention = kernel.Attention{Edges: edges, Heads: op.heads, Width: columns / op.heads, Average: op.average, Dropout: op.mode.dropout(r, op.rate, op.ordinal)}
	return a, nil
}

func (op *attention) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	var vectors [3][]float32
	for k := range in[1:] {
		want := z.cols
		if k == 2 {
			want = op.out(z.cols)
		}
		if vectors[k], err = vectorOf(op.name, in[1+k], want); err != nil {
			return nil, err
		}
	}
	a, err := op.begin(r, z.rows, z.cols)
	if err != nil {
		return nil, err
	}
	if coefficients := len(a.Idx) * a.Heads; coefficients > cap(a.alpha) { // and as many for the gradient
		what := fmt.Sprintf("ops: Attention: coefficients of %d edges and %d heads", len(a.Idx), a.Heads)
		if err := memory.Check(what, memory.Product(2, 4, int64(coefficients))); err != nil {
			return nil, fmt.Errorf("%w; draw fewer neighbours", err)
		}
	}
	a.s, a.t = scratch(a.s, z.rows*a.Heads), scratch(a.t, z.rows*a.Heads)
	a.alpha = scratch(a.alpha, len(a.Idx)*a.Heads)
	if !plan.In(r, op.slot).again {
		kernel.AttentionScores(a.s, z.data, vectors[0], z.rows, a.Heads, a.Width)
		kernel.AttentionScores(a.t, z.data, vectors[1], z.rows, a.Heads, a.Width)
	}
	a.Coefficients(a.alpha, a.s, a.t)
	value, data := out.Matrix(a.Rows(), a.Out())
	a.Attend(data, a.alpha, z.data, vectors[2])
	return value, nil
}

func (op *attention) Place(p *plan.Placement) (plan.Kernel, error) {
	state, q := &op.of(p.Run).placed, slotOf(p, op.slot)
	for k := range state.memory {
		state.memory[k] = p.Buffer()
	}
	q.needs.edges = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, columns, z, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		var vectors [3]device.Pointer
		for k := range in[1:] {
			want := columns
			if k == 2 {
				want = op.out(columns)
			}
			if vectors[k], err = in[1+k].Vector(op.name, want); err != nil {
				return nil, err
			}
		}
		last, err := op.begin(p.Run, rows, columns)
		if err != nil {
			return nil, err
		}
		a := device.Attention{
			Edges: q.edges, Heads: last.Heads, Width: last.Width, Average: last.Average, Slope: kernel.LeakySlope, Seed: last.Dropout.Seed,
		}
		a.Threshold, a.Keep = last.Dropout.Threshold()
		if op.plain {
			a.Weight = 0
		}
		state.attention = a
		for k, n := range []struct {
			at    *device.Pointer
			count int
		}{{&state.s, rows * a.Heads}, {&state.t, rows * a.Heads}, {&state.alpha, len(last.Idx) * a.Heads}} {
			if *n.at, err = state.memory[k].Floats(n.count); err != nil {
				return nil, err
			}
		}
		value, to, err := out.Matrix(last.Rows(), last.Out())
		if err != nil {
			return nil, err
		}
		if plan.In(p.Run, op.slot).again {
			return value, p.Device().AttendScored(a, to, state.alpha, state.s, state.t, z, vectors[2])
		}
		return value, p.Device().Attend(a, to, state.alpha, state.s, state.t, z, vectors[0], vectors[1], vectors[2])
	}, nil
}

// SymDiff makes the output an input of the first gradient, only for the order. The
// gradients of the vectors read data that it leaves.
func (op *attention) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	if len(in) == 4 {
		d.add(3, &columnSums{base: base{name: "AttentionBackBias"}}, grad)
	}
	if d.err != nil || !slices.Contains(op.wanted[:3], true) {
		return d.nodes, d.err
	}
	back := &attentionBack{base: base{name: "AttentionBackZ"}, forward: op}
	dz, err := applyConstant(back, in[0].Shape(), out, in[0], in[1], in[2], grad)
	if err != nil {
		return nil, err
	}
	d.pass(0, dz)
	for k := 1; k <= 2; k++ {
		d.add(k, &attentionBackVector{base: base{name: "AttentionBackVector"}, forward: op, target: k == 2}, dz, in[0])
	}
	return d.nodes, d.err
}

// attentionBack is the gradient with respect to z. It leaves the gradients of the scores
// for attentionBackVector.
type attentionBack struct {
	base
	forward *attention
}

// check returns an error unless the gradient has the sizes of the run's output, and z has
// the sizes of its input.
func (a *attentionRun) check(rows, cols, zRows, zCols int) error {
	if rows != a.Rows() || cols != a.Out() || zRows != a.Cols || zCols != a.Heads*a.Width {
		return fmt.Errorf("ops: Attention: gradient is %d×%d for an input of %d×%d, its output %d×%d: %w", rows, cols, zRows, zCols, a.Rows(), a.Out(), ErrShape)
	}
	return nil
}

func (op *attentionBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	source, err := vectorOf(op.name, in[2], z.cols)
	if err != nil {
		return nil, err
	}
	target, err := vectorOf(op.name, in[3], z.cols)
	if err != nil {
		return nil, err
	}
	grad, err := matrixOf(op.name, in[4])
	if err != nil {
		return nil, err
	}
	a := op.forward.of(r)
	if err := a.check(grad.rows, grad.cols, z.rows, z.cols); err != nil {
		return nil, err
	}
	a.dq, a.ds, a.dt = scratch(a.dq, len(a.alpha)), scratch(a.ds, len(a.s)), scratch(a.dt, len(a.t))
	a.Slopes(a.dq, a.dt, grad.data, a.alpha, a.s, a.t, z.data)
	value, data := out.Matrix(z.rows, z.cols)
	a.Gradient(data, a.ds, grad.data, a.alpha, a.dq, a.dt, source, target)
	return value, nil
}

func (op *attentionBack) Place(p *plan.Placement) (plan.Kernel, error) {
	f := op.forward.of(p.Run)
	state := &f.placed
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		zRows, zCols, z, err := in[1].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		source, err := in[2].Vector(op.name, zCols)
		if err != nil {
			return nil, err
		}
		target, err := in[3].Vector(op.name, zCols)
		if err != nil {
			return nil, err
		}
		rows, cols, grad, err := in[4].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if err := f.check(rows, cols, zRows, zCols); err != nil {
			return nil, err
		}
		a := state.attention
		for k, n := range []struct {
			at    *device.Pointer
			count int
		}{{&state.dq, len(f.Idx) * a.Heads}, {&state.ds, zRows * a.Heads}, {&state.dt, zRows * a.Heads}} {
			if *n.at, err = state.memory[3+k].Floats(n.count); err != nil {
				return nil, err
			}
		}
		value, to, err := out.Matrix(zRows, zCols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().AttentionGradient(a, to, state.dq, state.ds, state.dt, grad, state.alpha, state.s, state.t, z, source, target)
	}, nil
}

// attentionBackVector is the gradient with respect to source or target. Its first input,
// the result of back, is for the order.
type attentionBackVector struct {
	base
	forward *attention
	target  bool
}

func (op *attentionBackVector) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	z, err := matrixOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	a := op.forward.of(r)
	scores := a.ds
	if op.target {
		scores = a.dt
	}
	if len(scores) != z.rows*a.Heads {
		return nil, fmt.Errorf("ops: Attention: gradient of %d scores for an input of %d rows: %w", len(scores), z.rows, ErrShape)
	}
	value, data := out.Vector(z.cols)
	kernel.HeadSums(data, scores, z.data, z.rows, a.Heads, a.Width)
	return value, nil
}

func (op *attentionBackVector) Place(p *plan.Placement) (plan.Kernel, error) {
	state := &op.forward.of(p.Run).placed
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, z, err := in[1].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Vector(cols)
		if err != nil {
			return nil, err
		}
		scores := state.ds
		if op.target {
			scores = state.dt
		}
		return value, p.Device().HeadSums(to, scores, z, rows, state.attention.Heads, state.attention.Width)
	}, nil
}
