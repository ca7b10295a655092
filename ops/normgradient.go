package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// norm is LayerNorm or BatchNorm, for its gradients.
type norm interface {
	normOf(r *plan.Run) *normRun
	// gradient sets dx to the gradient with respect to x, of the shape of grad.
	gradient(c *plan.Call, dx, grad, gain plan.Floats) error
}

// newNorm adds a norm of the matrix x, with vectors of its width.
func newNorm(name string, op graphOp, x *G.Node, vectors ...*G.Node) (*G.Node, error) {
	if err := checkMatrix(name, x); err != nil {
		return nil, err
	}
	if err := checkVectors(name, x, x.Shape()[1], vectors...); err != nil {
		return nil, err
	}
	op.common().name = name
	return apply(op, x.Shape(), append(G.Nodes{x}, vectors...)...)
}

// normRun is the state of a norm in a run, for its gradients.
type normRun struct {
	rows, width int
	keeps       bool        // a gradient reads the normalised rows
	normalized  plan.Floats // the rows before gain and shift
	memory      plan.Scratch
}

// begin takes the sizes of x, and makes room for its rows.
func (s *normRun) begin(c *plan.Call, x plan.Matrix) {
	s.rows, s.width = x.Rows, x.Cols
	if s.keeps {
		s.normalized = c.Scratch(&s.memory, x.Rows*x.Cols)
	}
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
	d.add(2, &columnSums{base{name: b.name + "BackShift"}}, grad)
	return d
}

// normBack is the gradient of a norm with respect to x, from gain and the upstream gradient.
type normBack struct {
	base
	forward norm
}

func (op *normBack) Compute(c *plan.Call) error {
	s := op.forward.normOf(c.Run)
	grad := upstream(c, 2, s.rows, s.width)
	gain, to := c.Vector(1, grad.Cols), c.OutMatrix(grad.Rows, grad.Cols)
	return op.forward.gradient(c, to.Floats, grad.Floats, gain)
}

// normBackGain is the gradient of a norm with respect to its gain: the column sums of the
// upstream gradient times the normalised rows.
type normBackGain struct {
	base
	forward norm
}

func (op *normBackGain) Compute(c *plan.Call) error {
	s := op.forward.normOf(c.Run)
	grad := upstream(c, 1, s.rows, s.width)
	to := c.OutVector(grad.Cols)
	return c.On(func(d *device.Device) error {
		return d.ColumnSums(to.At, grad.At, s.normalized.At, 0, grad.Rows, grad.Cols)
	}, func() { kernel.ColumnProducts(to.Data, grad.Data, s.normalized.Data, grad.Rows, grad.Cols) })
}
