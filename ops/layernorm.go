package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// LayerNorm normalises each row of a float32 matrix of shape (n, width) to mean 0 and
// variance 1, then maps column j to gain[j]·x + shift[j] (Ba, Kiros & Hinton 2016,
// arXiv:1607.06450). gain and shift are vectors of length width. As in PyTorch, 1e-5 is
// added to the variance.
func LayerNorm(x, gain, shift *G.Node) (*G.Node, error) {
	if err := checkNodes("LayerNorm", x, gain, shift); err != nil {
		return nil, err
	}
	if err := checkMatrix("LayerNorm", x); err != nil {
		return nil, err
	}
	for _, v := range []*G.Node{gain, shift} {
		if err := checkVector("LayerNorm", v, x.Shape()[1]); err != nil {
			return nil, err
		}
	}
	op := &layerNorm{base: base{name: "LayerNorm"}}
	return apply(op, x.Shape(), x, gain, shift)
}

type layerNorm struct {
	base
}

// layerNormRun is the state of a LayerNorm in a run.
type layerNormRun struct {
	normRun
	inverse []float32 // 1/deviation of each row

	placed struct { // the same on a device
		inverseMemory, memory *device.Buffer
		inverse               device.Pointer
	}
}

func (op *layerNorm) of(r *plan.Run) *layerNormRun {
	return plan.StateOf(r, op, func(s *layerNormRun) { s.keeps = keepsNormalized(r.Plan, op.node) })
}

func (op *layerNorm) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	gain, err := vectorOf(op.name, in[1], x.cols)
	if err != nil {
		return nil, err
	}
	shift, err := vectorOf(op.name, in[2], x.cols)
	if err != nil {
		return nil, err
	}
	s := op.of(r)
	s.rows, s.width = x.rows, x.cols
	if s.keeps {
		s.normalized = scratch(s.normalized, len(x.data))
		s.inverse = scratch(s.inverse, x.rows)
	}
	value, data := out.Matrix(x.rows, x.cols)
	kernel.LayerNorm(data, s.normalized, s.inverse, x.data, gain, shift, x.rows, x.cols)
	return value, nil
}

func (op *layerNorm) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.of(p.Run)
	s.placed.memory, s.placed.inverseMemory = p.Buffer(), p.Buffer()
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, x, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		gain, err := in[1].Vector(op.name, width)
		if err != nil {
			return nil, err
		}
		shift, err := in[2].Vector(op.name, width)
		if err != nil {
			return nil, err
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		s.rows, s.width = rows, width
		if s.keeps {
			if s.placedNormalized, err = s.placed.memory.Floats(rows * width); err != nil {
				return nil, err
			}
			if s.placed.inverse, err = s.placed.inverseMemory.Floats(rows); err != nil {
				return nil, err
			}
		}
		return a, p.Device().LayerNorm(to, s.placedNormalized, s.placed.inverse, x, gain, shift, rows, width)
	}, nil
}

func (op *layerNorm) normOf(r *plan.Run) *normRun { return &op.of(r).normRun }

func (op *layerNorm) gradient(r *plan.Run, dx, grad, gain []float32) {
	s := op.of(r)
	kernel.LayerNormGradient(dx, grad, s.normalized, s.inverse, gain, s.rows, s.width)
}

func (op *layerNorm) placedGradient(p *plan.Placement, dx, grad, gain device.Pointer) error {
	s := op.of(p.Run)
	return p.Device().LayerNormGradient(dx, grad, s.placedNormalized, s.placed.inverse, gain, s.rows, s.width)
}

func (op *layerNorm) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d := normGradients(&op.base, op, in, out, grad)
	return d.nodes, d.err
}
