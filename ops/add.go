package ops

import (
	"fmt"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Add returns A + B for float32 matrices of equal shape. Gorgonia's Add gives the same
// numbers, but allocates in every run.
func Add(a, b *G.Node) (*G.Node, error) {
	if err := checkNodes("Add", a, b); err != nil {
		return nil, err
	}
	for _, n := range []*G.Node{a, b} {
		if err := checkMatrix("Add", n); err != nil {
			return nil, err
		}
	}
	if !a.Shape().Eq(b.Shape()) {
		return nil, fmt.Errorf("ops: Add: %v and %v: %w", a.Shape(), b.Shape(), ErrShape)
	}
	op := &add{base: newBase(a.Graph(), "Add", 2), wanted: []bool{variable(a), variable(b)}}
	return apply(op, a, b)
}

type add struct {
	base
	wanted []bool
}

func (op *add) Type() hm.Type { return hm.NewFnType(matrixType(), matrixType(), matrixType()) }

func (op *add) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *add) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *add) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *add) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	a, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	b, err := matrixOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	if a.rows != b.rows || a.cols != b.cols {
		return nil, fmt.Errorf("ops: Add: %d×%d and %d×%d: %w", a.rows, a.cols, b.rows, b.cols, ErrShape)
	}
	value, data := out.Matrix(a.rows, a.cols)
	for k, v := range a.data {
		data[k] = v + b.data[k]
	}
	return value, nil
}

func (op *add) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
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
			return nil, fmt.Errorf("ops: Add: %d×%d and %d×%d: %w", rows, cols, rowsB, colsB, ErrShape)
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Add(to, a, b, rows*cols)
	}, nil
}

func (op *add) DiffWRT(int) []bool { return op.wanted }

// SymDiff returns the upstream gradient for both inputs, without a copy.
func (op *add) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	d := make(G.Nodes, 2)
	for k, wanted := range op.wanted {
		if wanted {
			d[k] = grad
		}
	}
	return d, nil
}
