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

// norm is LayerNorm or BatchNorm, for its gradients.
type norm interface {
	// lastRun returns the rows and the width of the last run's output and, on the CPU, its
	// rows before gain and shift, which the norm owns.
	lastRun() (normalized []float32, rows, width int)
	// gradient sets dx to the gradient with respect to x, of the shape of grad.
	gradient(dx, grad, gain []float32)
	// placeGradient makes the runs on a device keep the gradient's inputs.
	placeGradient(p *plan.Placement) placedGradient
}

// placedGradient is the gradient of a norm on a device.
type placedGradient struct {
	normalized *device.Pointer // the last run's rows before gain and shift
	gradient   func(to, grad, gain device.Pointer) error
}

// normGradients returns the nodes of the wanted gradients of a norm with respect to x, gain and
// shift, which are the first of its inputs in. out is its output: an input of the gradients, only
// for the order.
func normGradients(name string, of norm, wanted []bool, in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	d, g := make(G.Nodes, len(in)), grad.Graph()
	var err error
	if wanted[0] {
		if d[0], err = apply(&normBack{newBase(g, name+"BackX", 3), of}, out, in[1], grad); err != nil {
			return nil, err
		}
	}
	if wanted[1] {
		if d[1], err = apply(&normBackGain{newBase(g, name+"BackGain", 2), of}, out, grad); err != nil {
			return nil, err
		}
	}
	if wanted[2] {
		if d[2], err = apply(&columnSums{base: newBase(g, name+"BackShift", 1)}, grad); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// checkGradient returns an error if a gradient has other sizes than the norm's last output.
func checkGradient(name string, of norm, rows, width int) error {
	if _, r, w := of.lastRun(); rows != r || width != w {
		return fmt.Errorf("ops: %s: gradient is %d×%d, its output %d×%d: %w", name, rows, width, r, w, ErrShape)
	}
	return nil
}

// normBack is the gradient of a norm with respect to x, from gain and the upstream gradient.
type normBack struct {
	base
	forward norm
}

func (op *normBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), vectorType(), matrixType(), matrixType())
}

func (op *normBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *normBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *normBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *normBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.name, in[2])
	if err == nil {
		err = checkGradient(op.name, op.forward, grad.rows, grad.cols)
	}
	if err != nil {
		return nil, err
	}
	gain, err := vectorOf(op.name, in[1], grad.cols)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(grad.rows, grad.cols)
	op.forward.gradient(data, grad.data, gain)
	return value, nil
}

func (op *normBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	placed := op.forward.placeGradient(p)
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[2].Matrix(op.name)
		if err == nil {
			err = checkGradient(op.name, op.forward, rows, width)
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
		return a, placed.gradient(to, grad, gain)
	}, nil
}

// normBackGain is the gradient of a norm with respect to its gain: the column sums of the
// upstream gradient times the normalised rows.
type normBackGain struct {
	base
	forward norm
}

func (op *normBackGain) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), vectorType())
}

func (op *normBackGain) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	cols, err := nominal(in, 1, 1)
	return tensor.Shape{cols}, err
}

func (op *normBackGain) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *normBackGain) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *normBackGain) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.name, in[1])
	if err == nil {
		err = checkGradient(op.name, op.forward, grad.rows, grad.cols)
	}
	if err != nil {
		return nil, err
	}
	normalized, rows, width := op.forward.lastRun()
	value, data := out.Vector(width)
	kernel.ColumnProducts(data, grad.data, normalized, rows, width)
	return value, nil
}

func (op *normBackGain) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	placed := op.forward.placeGradient(p)
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[1].Matrix(op.name)
		if err == nil {
			err = checkGradient(op.name, op.forward, rows, width)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.Vector(width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().ColumnSums(to, grad, *placed.normalized, 0, rows, width)
	}, nil
}
