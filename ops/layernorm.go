package ops

import (
	"fmt"

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
		if v.Dims() != 1 || v.Shape()[0] != x.Shape()[1] || v.Dtype() != tensor.Float32 {
			return nil, fmt.Errorf("ops: LayerNorm: %q is a %v of shape %v, want a float32 vector of %d: %w", v.Name(), v.Type(), v.Shape(), x.Shape()[1], ErrShape)
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

// placedNorm is the state that a normalisation shares with its gradients.
type placedNorm struct {
	gradientPlaced      bool // it needs the normalised rows
	rowMemory, memory   *device.Buffer
	normalized, inverse device.Pointer
	rows, width         int
}

func (s *placedNorm) check(rows, width int) error {
	if rows != s.rows || width != s.width {
		return fmt.Errorf("ops: LayerNorm: gradient is %d×%d, its output %d×%d: %w", rows, width, s.rows, s.width, ErrShape)
	}
	return nil
}

func (op *layerNorm) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedNorm](p, op)
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
		s.rows, s.width = rows, width
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

func (op *layerNorm) DiffWRT(int) []bool { return op.wanted }

// SymDiff makes the output an input of the gradients, only for the order.
func (op *layerNorm) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	op.keep = true
	d := make(G.Nodes, 3)
	var err error
	if op.wanted[0] {
		back := &layerNormBack{base: newBase(grad.Graph(), "LayerNormBackX", 3), forward: op}
		if d[0], err = apply(back, out, in[1], grad); err != nil {
			return nil, err
		}
	}
	if op.wanted[1] {
		back := &layerNormBackGain{base: newBase(grad.Graph(), "LayerNormBackGain", 2), forward: op}
		if d[1], err = apply(back, out, grad); err != nil {
			return nil, err
		}
	}
	if op.wanted[2] {
		if d[2], err = apply(&columnSums{base: newBase(grad.Graph(), "LayerNormBackShift", 1)}, grad); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// gradient reads the upstream gradient. The error wraps ErrShape if its sizes differ
// from the last output's.
func (op *layerNorm) gradient(v G.Value) (matrix, error) {
	grad, err := matrixOf(op.name, v)
	if err != nil {
		return grad, err
	}
	if grad.rows != op.rows || grad.cols != op.width {
		return grad, fmt.Errorf("ops: LayerNorm: gradient is %d×%d, its output %d×%d: %w", grad.rows, grad.cols, op.rows, op.width, ErrShape)
	}
	return grad, nil
}

type layerNormBack struct {
	base
	forward *layerNorm
}

func (op *layerNormBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), vectorType(), matrixType(), matrixType())
}

func (op *layerNormBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *layerNormBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *layerNormBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *layerNormBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	f := op.forward
	grad, err := f.gradient(in[2])
	if err != nil {
		return nil, err
	}
	gain, err := vectorOf(op.name, in[1], grad.cols)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(grad.rows, grad.cols)
	kernel.LayerNormGradient(data, grad.data, f.normalized, f.inverse, gain, grad.rows, grad.cols)
	return value, nil
}

func (op *layerNormBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedNorm](p, op.forward)
	s.gradientPlaced = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[2].Matrix(op.name)
		if err == nil {
			err = s.check(rows, width)
		}
		if err != nil {
			return nil, err
		}
		gain, err := in[1].Vector(op.name, width)
		if err != nil {
			return nil, err
		}
		a, to, err := out.Matrix(rows, width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().LayerNormGradient(to, grad, s.normalized, s.inverse, gain, rows, width)
	}, nil
}

type layerNormBackGain struct {
	base
	forward *layerNorm
}

func (op *layerNormBackGain) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), vectorType())
}

func (op *layerNormBackGain) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	cols, err := nominal(in, 1, 1)
	return tensor.Shape{cols}, err
}

func (op *layerNormBackGain) Do(in ...G.Value) (G.Value, error) {
	return op.Compute(&op.own, false, in...)
}

func (op *layerNormBackGain) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *layerNormBackGain) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	grad, err := op.forward.gradient(in[1])
	if err != nil {
		return nil, err
	}
	value, data := out.Vector(grad.cols)
	kernel.ColumnProducts(data, grad.data, op.forward.normalized, grad.rows, grad.cols)
	return value, nil
}

func (op *layerNormBackGain) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	s, _ := plan.StateOf[placedNorm](p, op.forward)
	s.gradientPlaced = true
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[1].Matrix(op.name)
		if err == nil {
			err = s.check(rows, width)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.Vector(width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().ColumnSums(to, grad, s.normalized, 0, rows, width)
	}, nil
}
