package ops

import (
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum returns the scalar sum of all elements of a float32 matrix of any number of rows,
// computed in float64. The gradient of Gorgonia's Sum allows only the nominal number of
// rows.
func Sum(x *G.Node) (*G.Node, error) {
	if err := checkMatrix("Sum", x); err != nil {
		return nil, err
	}
	return apply(&sum{base{name: "Sum"}}, tensor.ScalarShape(), x)
}

type sum struct{ base }

func (op *sum) Compute(c *plan.Call) error {
	x, to := c.Matrix(0), c.OutScalar()
	return c.On(func() error {
		return c.Device.Sum(to.At, x.At, 1, x.Rows*x.Cols)
	}, func() {
		var total float64
		for _, v := range x.Data {
			total += float64(v)
		}
		to.Data[0] = float32(total)
	})
}

func (op *sum) differentiate(d *gradients, _, grad *G.Node) {
	d.add(0, op.backward("Back", op.fill), op.inputs[0], grad)
}

// fill fills a matrix of the shape of c's first input with the upstream gradient.
func (op *sum) fill(c *plan.Call) error {
	x, upstream := c.Matrix(0), c.Scalar(1)
	to := c.OutLike(x)
	return c.On(func() error {
		return c.Device.Fill(to.At, upstream.At, 1, x.Rows*x.Cols)
	}, func() {
		for k := range to.Data {
			to.Data[k] = upstream.Data[0]
		}
	})
}
