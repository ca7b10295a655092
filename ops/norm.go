package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// norm is what LayerNorm and BatchNorm share.
type norm struct{ base }

// newNorm adds op as a norm of the matrix x with vectors of its width.
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
	rows, width           int
	keeps                 bool        // a gradient reads the normalised rows
	normalized            plan.Floats // the rows before gain and shift
	inverse               plan.Floats // of LayerNorm, 1/deviation of each row
	memory, inverseMemory plan.Scratch
}

func (op *norm) of(r *plan.Run) *normRun {
	return plan.StateOf(r, op, func(s *normRun) { s.keeps = op.readsBack(r.Plan) })
}

// begin takes the sizes of x, and makes room for its rows.
func (op *norm) begin(c *plan.Call, x plan.Matrix) *normRun {
	s := op.of(c.Run)
	if s.rows, s.width = x.Rows, x.Cols; s.keeps {
		s.normalized = c.Scratch(&s.memory, x.Rows*x.Cols)
	}
	return s
}

// gradients returns the gradients with respect to x, gain and shift, the first of the inputs in. out
// is the output. backX computes the first one, dx, of the shape of grad.
func (op *norm) gradients(backX func(c *plan.Call, s *normRun, dx, grad, gain plan.Floats) error, in G.Nodes, out, grad *G.Node) *gradients {
	d := op.base.gradients()
	d.add(0, op.backward("BackX", func(c *plan.Call) error {
		s := op.of(c.Run)
		grad := upstream(c, 2, s.rows, s.width)
		gain := c.Vector(1, grad.Cols)
		dx := c.OutMatrix(grad.Rows, grad.Cols)
		return backX(c, s, dx.Floats, grad.Floats, gain)
	}), out, in[1], grad)
	d.add(1, op.backward("BackGain", op.backGain), out, grad)
	d.add(2, &columnSums{base{name: op.name + "BackShift"}}, grad)
	return d
}

// backGain is the column sums of the upstream gradient times the normalised rows.
func (op *norm) backGain(c *plan.Call) error {
	s := op.of(c.Run)
	grad := upstream(c, 1, s.rows, s.width)
	to := c.OutVector(grad.Cols)
	return c.On(func(d *device.Device) error {
		return d.ColumnSums(to.At, grad.At, s.normalized.At, 0, grad.Rows, grad.Cols)
	}, func() {
		kernel.ColumnProducts(to.Data, grad.Data, s.normalized.Data, grad.Rows, grad.Cols)
	})
}
