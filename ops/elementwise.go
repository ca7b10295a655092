package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// checkEqual returns an error if a and b are not float32 matrices of equal shape.
func checkEqual(what string, a, b *G.Node) error {
	if err := checkMatrix(what, a, b); err != nil {
		return err
	}
	if !a.Shape().Eq(b.Shape()) {
		return fmt.Errorf("ops: %s: %v and %v: %w", what, a.Shape(), b.Shape(), ErrShape)
	}
	return nil
}

// elementwise is an op on two or three matrices of equal shape, element by element. It has no
// gradient: an op that embeds it may add one.
type elementwise struct {
	base
	cpu func(to []float32, in [3][]float32)
	gpu func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error
}

func (op *elementwise) Compute(c *plan.Call) error {
	var data [3][]float32
	var at [3]device.Pointer
	first := c.Matrix(0)
	for k := range c.Inputs() {
		m := c.Matrix(k)
		if m.Rows != first.Rows || m.Cols != first.Cols {
			return c.Sizes("%d×%d and %d×%d", first.Rows, first.Cols, m.Rows, m.Cols)
		}
		data[k], at[k] = m.Data, m.At
	}
	to := c.OutMatrix(first.Rows, first.Cols)
	return c.On(func(d *device.Device) error {
		return op.gpu(d, to.At, at, to.Rows*to.Cols)
	}, func() { op.cpu(to.Data, data) })
}
