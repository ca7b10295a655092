package ops

import (
	"fmt"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Max returns the larger of A and B, element by element, for float32 matrices of equal shape.
// Where they are equal, the gradient is of A.
func Max(a, b *G.Node) (*G.Node, error) {
	if err := checkNodes("Max", a, b); err != nil {
		return nil, err
	}
	for _, n := range []*G.Node{a, b} {
		if err := checkMatrix("Max", n); err != nil {
			return nil, err
		}
	}
	if !a.Shape().Eq(b.Shape()) {
		return nil, fmt.Errorf("ops: Max: %v and %v: %w", a.Shape(), b.Shape(), ErrShape)
	}
	return apply(&maximum{base: newBase(a.Graph(), "Max", 2), wanted: []bool{variable(a), variable(b)}}, a, b)
}

type maximum struct {
	base
	wanted []bool
}

func (op *maximum) Type() hm.Type { return hm.NewFnType(matrixType(), matrixType(), matrixType()) }

func (op *maximum) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *maximum) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *maximum) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *maximum) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	m, err := equalMatrices(op.name, in...)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(m[0].rows, m[0].cols)
	for k, v := range m[0].data {
		data[k] = max(v, m[1].data[k])
	}
	return value, nil
}

// equalMatrices returns the elements of matrices of equal sizes.
func equalMatrices(name string, in ...G.Value) ([3]matrix, error) {
	var m [3]matrix
	for k, v := range in {
		var err error
		if m[k], err = matrixOf(name, v); err != nil {
			return m, err
		}
		if m[k].rows != m[0].rows || m[k].cols != m[0].cols {
			return m, fmt.Errorf("ops: %s: %d×%d and %d×%d: %w", name, m[0].rows, m[0].cols, m[k].rows, m[k].cols, ErrShape)
		}
	}
	return m, nil
}

func (op *maximum) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, a, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		rowsB, colsB, b, err := in[1].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if rows != rowsB || cols != colsB {
			return nil, fmt.Errorf("ops: Max: %d×%d and %d×%d: %w", rows, cols, rowsB, colsB, ErrShape)
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Max(to, a, b, rows*cols)
	}, nil
}

func (op *maximum) DiffWRT(int) []bool { return op.wanted }

func (op *maximum) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := make(G.Nodes, 2)
	for k, wanted := range op.wanted {
		if !wanted {
			continue
		}
		var err error
		if d[k], err = apply(&maximumBack{base: newBase(grad.Graph(), "MaxBack", 3), second: k == 1}, in[0], in[1], grad); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// maximumBack is the gradient where A, or with second B, is the larger one, and 0 elsewhere.
type maximumBack struct {
	base
	second bool
}

func (op *maximumBack) Type() hm.Type {
	return hm.NewFnType(matrixType(), matrixType(), matrixType(), matrixType())
}

func (op *maximumBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *maximumBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *maximumBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *maximumBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	m, err := equalMatrices(op.name, in...)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(m[0].rows, m[0].cols)
	for k, v := range m[0].data {
		data[k] = 0
		if (v < m[1].data[k]) == op.second {
			data[k] = m[2].data[k]
		}
	}
	return value, nil
}

func (op *maximumBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, a, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		_, _, b, err := in[1].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		rowsG, colsG, grad, err := in[2].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		if rows != rowsG || cols != colsG {
			return nil, fmt.Errorf("ops: Max: %d×%d and its gradient %d×%d: %w", rows, cols, rowsG, colsG, ErrShape)
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().MaxGradient(to, grad, a, b, op.second, rows*cols)
	}, nil
}
