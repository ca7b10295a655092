package ops

import (
	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Max returns the larger of A and B, element by element, for float32 matrices of equal shape.
// Where they are equal, the gradient is of A.
func Max(a, b *G.Node) (*G.Node, error) {
	if err := checkEqual("Max", a, b); err != nil {
		return nil, err
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

func (op *maximum) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, at, err := equalArrays(op.name, in)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Max(to, at[0], at[1], rows*cols)
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
		rows, cols, at, err := equalArrays(op.name, in)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().MaxGradient(to, at[2], at[0], at[1], op.second, rows*cols)
	}, nil
}
