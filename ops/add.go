package ops

import (
	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Add returns A + B for float32 matrices of equal shape. Gorgonia's Add gives the same
// numbers, but allocates in every run.
func Add(a, b *G.Node) (*G.Node, error) {
	if err := checkEqual("Add", a, b); err != nil {
		return nil, err
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
	m, err := equalMatrices(op.name, in...)
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(m[0].rows, m[0].cols)
	for k, v := range m[0].data {
		data[k] = v + m[1].data[k]
	}
	return value, nil
}

func (op *add) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, at, err := equalArrays(op.name, in)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Add(to, at[0], at[1], rows*cols)
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
