package ops

import (
	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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
	op := &layerNorm{base: newBase(x.Graph(), "LayerNorm", 3)}
	op.wanted = []bool{variable(x), variable(gain), variable(shift)}
	return apply(op, x, gain, shift)
}

type layerNorm struct {
	base
	wanted []bool

	// The rows of the last run before gain and shift, and their 1/deviation, for
	// the gradients.
	keep                bool
	normalized, inverse []float32
	rows, width         int
}

func (op *layerNorm) Type() hm.Type {
	return hm.NewFnType(matrixType(), vectorType(), vectorType(), matrixType())
}

func (op *layerNorm) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *layerNorm) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *layerNorm) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *layerNorm) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
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
	op.rows, op.width = x.rows, x.cols
	if op.keep {
		op.normalized = scratch(op.normalized, len(x.data))
		op.inverse = scratch(op.inverse, x.rows)
	}
	value, data := out.Matrix(x.rows, x.cols)
	kernel.LayerNorm(data, op.normalized, op.inverse, x.data, gain, shift, x.rows, x.cols)
	return value, nil
}

// placedLayerNorm is the state that a LayerNorm on a device shares with its gradients.
type placedLayerNorm struct {
	gradientPlaced      bool // it needs the normalised rows
	rowMemory, memory   *device.Buffer
	normalized, inverse device.Pointer
}

func (op *layerNorm) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedLayerNorm](p, op)
	s.memory, s.rowMemory = p.Buffer(), p.Buffer()
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
		op.rows, op.width = rows, width
		if s.gradientPlaced {
			if s.normalized, err = s.memory.Floats(rows * width); err != nil {
				return nil, err
			}
			if s.inverse, err = s.rowMemory.Floats(rows); err != nil {
				return nil, err
			}
		}
		return a, p.Device().LayerNorm(to, s.normalized, s.inverse, x, gain, shift, rows, width)
	}, nil
}

func (op *layerNorm) lastRun() (normalized []float32, rows, width int) {
	return op.normalized, op.rows, op.width
}

func (op *layerNorm) gradient(dx, grad, gain []float32) {
	kernel.LayerNormGradient(dx, grad, op.normalized, op.inverse, gain, op.rows, op.width)
}

func (op *layerNorm) placeGradient(p *plan.Placement) placedGradient {
	s, _ := plan.StateOf[placedLayerNorm](p, op)
	s.gradientPlaced = true
	return placedGradient{
		normalized: &s.normalized,
		gradient: func(to, grad, gain device.Pointer) error {
			return p.Device().LayerNormGradient(to, grad, s.normalized, s.inverse, gain, op.rows, op.width)
		},
	}
}

func (op *layerNorm) DiffWRT(int) []bool { return op.wanted }

func (op *layerNorm) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	op.keep = true
	return normGradients(op.name, op, op.wanted, in, out, grad)
}
