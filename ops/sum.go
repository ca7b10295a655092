package ops

import (
	"github.com/chewxy/hm"
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
	return apply(&sum{base: newBase(x.Graph(), name, 1), mean: mean, wanted: variable(x)}, x)
}

type sum struct {
	base
	mean   bool
	wanted bool
}

func (op *sum) Type() hm.Type { return hm.NewFnType(matrixType(), scalarType()) }

func (op *sum) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (op *sum) Do(in ...G.Value) (G.Value, error) { return op.Compute(nil, false, in...) }

func (op *sum) Memory() plan.Memory { return plan.Memory{Result: plan.Elsewhere} }

func (op *sum) Compute(_ *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	var total float64
	for _, v := range x.data {
		total += float64(v)
	}
	return G.NewF32(float32(total * op.share(len(x.data)))), nil
}

func (op *sum) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, x, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Scalar()
		if err != nil {
			return nil, err
		}
		return value, p.Device().Sum(to, x, op.share(rows*cols), rows*cols)
	}, nil
}

// share is the weight of one of n elements.
func (op *sum) share(n int) float64 {
	if op.mean && n > 0 {
		return 1 / float64(n)
	}
	return 1
}

func (op *sum) DiffWRT(int) []bool { return []bool{op.wanted} }

func (op *sum) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	back := &sumBack{base: newBase(grad.Graph(), op.name+"Back", 2), forward: op}
	dx, err := apply(back, in[0], grad)
	return G.Nodes{dx}, err
}

// sumBack fills a matrix of its first input's shape with the upstream gradient.
type sumBack struct {
	base
	forward *sum
}

func (op *sumBack) Type() hm.Type { return hm.NewFnType(matrixType(), scalarType(), matrixType()) }

func (op *sumBack) InferShape(in ...G.DimSizer) (tensor.Shape, error) { return sameShape(in, 0) }

func (op *sumBack) Do(in ...G.Value) (G.Value, error) { return op.Compute(&op.own, false, in...) }

func (op *sumBack) Memory() plan.Memory { return plan.Memory{Result: plan.InBuffer} }

func (op *sumBack) Compute(out *plan.Buffer, _ bool, in ...G.Value) (G.Value, error) {
	x, err := matrixOf(op.name, in[0])
	if err != nil {
		return nil, err
	}
	upstream, err := scalarOf(op.name, in[1])
	if err != nil {
		return nil, err
	}
	value, data := out.Matrix(x.rows, x.cols)
	each := upstream * float32(op.forward.share(len(x.data)))
	for k := range data {
		data[k] = each
	}
	return value, nil
}

func (op *sumBack) Place(p *plan.Placement, _ *G.Node) (plan.Kernel, error) {
	return func(in []*plan.Array, out *plan.Result) (*plan.Array, error) {
		rows, cols, _, err := in[0].Matrix(op.name)
		if err != nil {
			return nil, err
		}
		upstream, err := in[1].Scalar(op.name)
		if err != nil {
			return nil, err
		}
		value, to, err := out.Matrix(rows, cols)
		if err != nil {
			return nil, err
		}
		return value, p.Device().Fill(to, upstream, float32(op.forward.share(rows*cols)), rows*cols)
	}, nil
}
