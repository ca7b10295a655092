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

// equalMatrices returns the elements of up to three matrices of equal sizes.
func equalMatrices(what string, in ...G.Value) ([3]matrix, error) {
	var m [3]matrix
	for k, v := range in {
		var err error
		if m[k], err = matrixOf(what, v); err != nil {
			return m, err
		}
		if m[k].rows != m[0].rows || m[k].cols != m[0].cols {
			return m, fmt.Errorf("ops: %s: %d×%d and %d×%d: %w", what, m[0].rows, m[0].cols, m[k].rows, m[k].cols, ErrShape)
		}
	}
	return m, nil
}

// equalArrays returns the sizes and addresses of up to three matrices of equal sizes on a
// device.
func equalArrays(what string, in []*plan.Array) (rows, cols int, at [3]device.Pointer, err error) {
	for k, a := range in {
		var m, n int
		if m, n, at[k], err = a.Matrix(what); err != nil {
			return 0, 0, at, err
		}
		if k == 0 {
			rows, cols = m, n
		}
		if m != rows || n != cols {
			return 0, 0, at, fmt.Errorf("ops: %s: %d×%d and %d×%d: %w", what, rows, cols, m, n, ErrShape)
		}
	}
	return rows, cols, at, nil
}
