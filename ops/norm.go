package ops

import (
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
	normalized plan.Scratch // the rows before gain and shift
	inverse    plan.Scratch // of LayerNorm, 1/deviation of each row
}

func (op *norm) of(c *plan.Call) *normRun { return plan.StateOf[normRun](c.Run, op) }

// begin returns the first inputs and the result. It makes room for the normalised rows of x, if a
// gradient reads them.
func (op *norm) begin(c *plan.Call) (s *normRun, x, to plan.Matrix, gain, shift plan.Floats) {
	s, x = op.of(c), c.Matrix(0)
	if op.readsBack(c.Plan) {
		c.Scratch(&s.normalized, x.Rows*x.Cols)
	}
	return s, x, c.OutLike(x), c.Vector(1, x.Cols), c.Vector(2, x.Cols)
}

// differentiateBy adds the gradients with respect to x, gain and shift, the first inputs. backX
// computes the first one, dx, of the shape of grad.
func (op *norm) differentiateBy(backX func(c *plan.Call, s *normRun, dx, grad plan.Matrix, gain plan.Floats) error, d *gradients, out, grad *G.Node) {
	d.add(0, op.backward("BackX", func(c *plan.Call) error {
		grad := upstream(c, 2)
		gain := c.Vector(1, grad.Cols)
		dx := c.OutLike(grad)
		return backX(c, op.of(c), dx, grad, gain)
	}), out, op.inputs[1], grad)
	d.add(1, op.backward("BackGain", op.backGain), out, grad)
	d.add(2, &columnSums{base{name: op.name + "BackShift"}}, grad)
}

// backGain is the column sums of the upstream gradient times the normalised rows.
func (op *norm) backGain(c *plan.Call) error {
	s := op.of(c)
	grad := upstream(c, 1)
	to := c.OutVector(grad.Cols)
	return c.On(func() error {
		return c.Device.ColumnSums(to.At, grad.At, s.normalized.At, 0, grad.Rows, grad.Cols)
	}, func() {
		kernel.ColumnProducts(to.Data, grad.Data, s.normalized.Data, grad.Rows, grad.Cols)
	})
}
