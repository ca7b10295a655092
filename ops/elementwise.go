package ops

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
)

// checkEqual returns an error if a and b are not float32 matrices of equal shape.
func checkEqual(what string, a, b *G.Node) error {
	if err := checkNodes(what, a, b); err != nil {
		return err
	}
	for _, n := range []*G.Node{a, b} {
		if err := checkMatrix(what, n); err != nil {
			return err
		}
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
	compute func(to []float32, in [3]matrix)
	place   func(d *device.Device, to device.Pointer, in [3]device.Pointer, n int) error
}

func (op *elementwise) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
	var m [3]matrix
	for k, v := range in {
		var err error
		if m[k], err = matrixOf(op.name, v); err != nil {
			return nil, err
		}
		if m[k].rows != m[0].rows || m[k].cols != m[0].cols {
			return nil, op.sizeError(m[0].rows, m[0].cols, m[k].rows, m[k].cols)
		}
	}
	value, data := out.Matrix(m[0].rows, m[0].cols)
	op.compute(data, m)
	return value, nil
}

func (op *elementwise) sizeError(rows, cols, otherRows, otherCols int) error {
	return fmt.Errorf("ops: %s: %d×%d and %d×%d: %w", op.name, rows, cols, otherRows, otherCols, ErrShape)
}

func (op *elementwise) Place(p *plan.Placement) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		var at [3]device.Pointer
		var rows, cols int
		for k, a := range in {
			m, n, pointer, err := a.Matrix(op.name)
			if err != nil {
				return nil, err
			}
			if k == 0 {
				rows, cols = m, n
			}
			if m != rows || n != cols {
				return nil, op.sizeError(rows, cols, m, n)
			}
			at[k] = pointer
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, op.place(p.Device(), to, at, rows*cols)
	}, nil
}
