package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// norm is LayerNorm or BatchNorm, for its gradients.
type norm interface {
	normOf(r *plan.Run) *normRun
	// gradient sets dx to the gradient with respect to x, of the shape of grad.
	gradient(r *plan.Run, dx, grad, gain []float32)
	placedGradient(p *plan.Placement, dx, grad, gain device.Pointer) error
}

// normRun is the state of a norm in a run, for its gradients.
type normRun struct {
	rows, width      int
	keeps            bool           // a gradient reads the normalised rows
	normalized       []float32      // the rows before gain and shift
	placedNormalized device.Pointer // the same on a device
}

// keepsNormalized reports whether a gradient of the norm n reads the normalised rows in p.
func keepsNormalized(p *plan.Plan, n *G.Node) bool {
	return readBy[*normBack](p, n) || readBy[*normBackGain](p, n)
}

// normGradients returns the gradients of a norm with respect to x, gain and shift, which are the
// first of its inputs in. out is its output: an input of the gradients, only for the order.
func normGradients(b *base, of norm, in G.Nodes, out, grad *G.Node) *gradients {
	d := b.gradients()
	d.add(0, &normBack{base{name: b.name + "BackX"}, of}, out, in[1], grad)
	d.add(1, &normBackGain{base{name: b.name + "BackGain"}, of}, out, grad)
	d.add(2, &columnSums{base: base{name: b.name + "BackShift"}}, grad)
	return d
}

// check returns an error if a gradient has other sizes than the norm's output.
func (s *normRun) check(name string, rows, width int) error {
	if rows != s.rows || width != s.width {
		return fmt.Errorf("ops: %s: gradient is %d×%d, its output %d×%d: %w", name, rows, width, s.rows, s.width, ErrShape)
	}
	return nil
}

// normBack is the gradient of a norm with respect to x, from gain and the upstream gradient.
type normBack struct {
	base
	forward norm
}

func (op *normBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.name, in[2])
	if err == nil {
		err = op.forward.normOf(r).check(op.name, grad.rows, grad.cols)
	}
	if err != nil {
		return nil, err
	}
	gain, err := vectorOf(op.name, in[1], grad.cols)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(grad.rows, grad.cols)
	op.forward.gradient(r, data, grad.data, gain)
	return value, nil
}

func (op *normBack) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.forward.normOf(p.Run)
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[2].Matrix(op.name)
		if err == nil {
			err = s.check(op.name, rows, width)
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
		return a, op.forward.placedGradient(p, to, grad, gain)
	}, nil
}

// normBackGain is the gradient of a norm with respect to its gain: the column sums of the
// upstream gradient times the normalised rows.
type normBackGain struct {
	base
	forward norm
}

func (op *normBackGain) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	grad, err := matrixOf(op.name, in[1])
	if err == nil {
		err = op.forward.normOf(r).check(op.name, grad.rows, grad.cols)
	}
	if err != nil {
		return nil, err
	}
	value, data := out.Vector(grad.cols)
	kernel.ColumnProducts(data, grad.data, op.forward.normOf(r).normalized, grad.rows, grad.cols)
	return value, nil
}

func (op *normBackGain) Place(p *plan.Placement) (plan.Kernel, error) {
	s := op.forward.normOf(p.Run)
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, width, grad, err := in[1].Matrix(op.name)
		if err == nil {
			err = s.check(op.name, rows, width)
		}
		if err != nil {
			return nil, err
		}
		a, to, err := out.Vector(width)
		if err != nil {
			return nil, err
		}
		return a, p.Device().ColumnSums(to, grad, s.placedNormalized, 0, rows, width)
	}, nil
}
