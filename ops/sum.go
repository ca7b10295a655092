package ops

import (
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

func (op *sum) Compute(r *plan.Run, _ *plan.Buffer, in ...G.Value) (G.Value, error) {
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

func (op *sum) Place(p *plan.Placement) (plan.Kernel, error) {
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

func (op *sumBack) Compute(r *plan.Run, out *plan.Buffer, in ...G.Value) (G.Value, error) {
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

func (op *sumBack) Place(p *plan.Placement) (plan.Kernel, error) {
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
