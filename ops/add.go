package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// Add returns A + B for float32 matrices of equal shape. Gorgonia's Add gives the same
// numbers, but allocates in every run.
func Add(a, b *G.Node) (*G.Node, error) {
	if err := checkMatrix("Add", a, b); err != nil {
		return nil, err
	}
	if !a.Shape().Eq(b.Shape()) {
		return nil, fmt.Errorf("ops: Add: %v and %v: %w", a.Shape(), b.Shape(), ErrShape)
	}
	return apply(&add{base{name: "Add"}}, a.Shape(), a, b)
}

type add struct{ base }

func (op *add) Compute(c *plan.Call) error {
	a, b := c.Matrix(0), c.Matrix(1)
	if a.Rows != b.Rows || a.Cols != b.Cols {
		return c.Sizes("%d×%d and %d×%d", a.Rows, a.Cols, b.Rows, b.Cols)
	}
	to := c.OutLike(a)
	return c.On(func() error {
		return c.Device.Add(to.At, a.At, b.At, to.Rows*to.Cols)
	}, func() {
		for k, v := range a.Data {
			to.Data[k] = v + b.Data[k]
		}
	})
}

// differentiate returns the upstream gradient for both inputs, without a copy.
func (op *add) differentiate(d *gradients, _, grad *G.Node) {
	d.pass(0, grad)
	d.pass(1, grad)
}
