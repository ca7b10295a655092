package ops

import (
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Sum returns the scalar sum of all elements of a float32 matrix of any number of rows,
// computed in float64. The gradient of Gorgonia's Sum allows only the nominal number of
// rows.
func Sum(x *G.Node) (*G.Node, error) { return newSum("Sum", x, false) }

// Mean is Sum divided by the number of elements.
func Mean(x *G.Node) (*G.Node, error) { return newSum("Mean", x, true) }

func newSum(name string, x *G.Node, mean bool) (*G.Node, error) {
	if err := checkMatrix(name, x); err != nil {
		return nil, err
	}
	return apply(&sum{base: base{name: name}, mean: mean}, tensor.ScalarShape(), x)
}

type sum struct {
	base
	mean bool
}

// Rows says that the sum mixes rows.
func (op *sum) Rows() (any, plan.RowKind) { return nil, plan.MixedRows }

func (op *sum) Memory(*plan.Plan) plan.Memory { return plan.Memory{Result: plan.Elsewhere} }

func (op *sum) Compute(c *plan.Call) error {
	x, to := c.Matrix(0), c.OutScalar()
	n := x.Rows * x.Cols
	return c.On(func(d *device.Device) error {
		return d.Sum(to.At, x.At, op.share(n), n)
	}, func() {
		var total float64
		for _, v := range x.Data {
			total += float64(v)
		}
		to.Data[0] = float32(total * op.share(n))
	})
}

// share is the weight of one of n elements.
func (op *sum) share(n int) float64 {
	if op.mean && n > 0 {
		return 1 / float64(n)
	}
	return 1
}

func (op *sum) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := op.gradients()
	d.add(0, &sumBack{base: base{name: op.name + "Back"}, forward: op}, in[0], grad)
	return d.nodes, d.err
}

// sumBack fills a matrix of its first input's shape with the upstream gradient.
type sumBack struct {
	base
	forward *sum
}

func (op *sumBack) Compute(c *plan.Call) error {
	x, upstream := c.Matrix(0), c.Scalar(1)
	to := c.OutMatrix(x.Rows, x.Cols)
	n := x.Rows * x.Cols
	share := float32(op.forward.share(n))
	return c.On(func(d *device.Device) error {
		return d.Fill(to.At, upstream.At, share, n)
	}, func() {
		each := upstream.Data[0] * share
		for k := range to.Data {
			to.Data[k] = each
		}
	})
}
