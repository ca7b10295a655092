package ops

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ErrShape is wrapped by errors about values, blocks or labels whose sizes do not match.
var ErrShape = plan.ErrShape

// base implements the methods that are equal for all ops of this package: a fixed number
// of inputs, a unique identity, and no gradient. An op adds the rest of plan.Op, which is
// Type, InferShape, Do, Compute, Memory and Place. If it has a gradient, it overrides
// DiffWRT and SymDiff.
type base struct {
	name  string
	arity int
	id    int64
	own   plan.Buffer // of the result in Gorgonia's own machines
}

// newBase returns the base of an op for the next node of g. Gorgonia merges nodes whose
// ops have equal hashes; two dropouts of one input would become one. The id of the next
// node makes the hash unique, and is the same in every process that builds the graph.
func newBase(g *G.ExprGraph, name string, arity int) base {
	var id int64
	if all := g.AllNodes(); len(all) > 0 {
		id = all[len(all)-1].ID() + 1
	}
	return base{name: name, arity: arity, id: id}
}

func (b *base) Arity() int            { return b.arity }
func (b *base) ReturnsPtr() bool      { return false }
func (b *base) CallsExtern() bool     { return false }
func (b *base) OverwritesInput() int  { return -1 }
func (b *base) String() string        { return fmt.Sprintf("%s#%d", b.name, b.id) }
func (b *base) WriteHash(h hash.Hash) { fmt.Fprintf(h, "gcn/ops.%s#%d", b.name, b.id) }

func (b *base) Hashcode() uint32 {
	h := fnv.New32a()
	b.WriteHash(h)
	return h.Sum32()
}

func (b *base) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

func (b *base) SymDiff(G.Nodes, *G.Node, *G.Node) (G.Nodes, error) {
	return nil, fmt.Errorf("ops: %s has no derivative", b.name)
}

// matrixType, vectorType and scalarType build op signatures. Type must return a new
// function type at every call, since Gorgonia recycles it.
func matrixType() hm.Type { return G.TensorType{Dims: 2, Of: tensor.Float32} }
func vectorType() hm.Type { return G.TensorType{Dims: 1, Of: tensor.Float32} }
func scalarType() hm.Type { return tensor.Float32 }

// checkNodes returns an error if a node is nil, in no graph, or in another graph than the
// first. Gorgonia would panic.
func checkNodes(what string, nodes ...*G.Node) error {
	for k, n := range nodes {
		if n == nil || n.Graph() == nil {
			return fmt.Errorf("ops: %s: input %d is nil or in no graph", what, k)
		}
		if n.Graph() != nodes[0].Graph() {
			return fmt.Errorf("ops: %s: input %d is in another graph than input 0", what, k)
		}
	}
	return nil
}

// checkMatrix returns an error if n is not a float32 matrix.
func checkMatrix(what string, n *G.Node) error {
	if err := checkNodes(what, n); err != nil {
		return err
	}
	if n.Dims() != 2 || n.Dtype() != tensor.Float32 {
		return fmt.Errorf("ops: %s: input %q is a %v of shape %v, want a float32 matrix: %w", what, n.Name(), n.Type(), n.Shape(), ErrShape)
	}
	return nil
}

// checkVector returns an error if n is not a float32 vector of the given length.
func checkVector(what string, n *G.Node, length int) error {
	if n.Dims() != 1 || n.Shape()[0] != length || n.Dtype() != tensor.Float32 {
		return fmt.Errorf("ops: %s: input %q is a %v of shape %v, want a float32 vector of %d: %w", what, n.Name(), n.Type(), n.Shape(), length, ErrShape)
	}
	return nil
}

// apply adds op to the graph of its inputs.
func apply(op plan.Op, inputs ...*G.Node) (*G.Node, error) {
	n, err := G.ApplyOp(op, inputs...)
	if err != nil {
		return nil, fmt.Errorf("ops: %v: %w", op, err)
	}
	return n, nil
}

// Constant reports whether n depends on features alone, and on no input node of the graph.
// Such a node gets no gradient.
func Constant(n *G.Node) bool { return n == nil || n.Graph() == nil || !variable(n) }

// variable reports whether n depends on an input node of the graph through differentiable
// ops. Features are not differentiable.
func variable(n *G.Node) bool {
	seen := make(map[*G.Node]bool)
	var visit func(n *G.Node) bool
	visit = func(n *G.Node) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		if n.Op() == nil {
			return true
		}
		op, ok := n.Op().(G.SDOp)
		if !ok {
			return false
		}
		children := plan.Children(n)
		for k, wanted := range op.DiffWRT(len(children)) {
			if wanted && visit(children[k]) {
				return true
			}
		}
		return false
	}
	return visit(n)
}

// scratch returns a slice of length n, in the memory of s if n fits. The elements are not
// initialised.
func scratch[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// matrix is the value of a matrix input.
type matrix struct {
	rows, cols int
	data       []float32
}

// matrixOf returns the elements of a float32 matrix, row-major. They are v's own, or a copy
// if v is a view that is not contiguous. what names the op in the error.
func matrixOf(what string, v G.Value) (matrix, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || d.Dtype() != tensor.Float32 || d.Dims() != 2 {
		return matrix{}, fmt.Errorf("ops: %s: input is a %T of shape %v, want a float32 matrix: %w", what, v, shapeOf(v), ErrShape)
	}
	data, err := plan.FloatsOf(d)
	if err != nil {
		return matrix{}, fmt.Errorf("ops: %s: input is %w", what, err)
	}
	return matrix{rows: d.Shape()[0], cols: d.Shape()[1], data: data}, nil
}

// vectorOf returns the elements of a float32 vector of length n.
func vectorOf(what string, v G.Value, n int) ([]float32, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || d.Dtype() != tensor.Float32 || d.Dims() != 1 || d.Shape()[0] != n || len(d.Float32s()) < n || d.RequiresIterator() {
		return nil, fmt.Errorf("ops: %s: input is a %T of shape %v, want a float32 vector of %d: %w", what, v, shapeOf(v), n, ErrShape)
	}
	return d.Float32s()[:n], nil
}

// scalarOf returns the value of a float32 scalar, such as an upstream gradient.
func scalarOf(what string, v G.Value) (float32, error) {
	switch s := v.(type) {
	case *G.F32:
		return float32(*s), nil
	case *tensor.Dense:
		if s.Dtype() == tensor.Float32 && s.Shape().TotalSize() == 1 && len(s.Float32s()) > 0 {
			return s.Float32s()[0], nil
		}
	}
	return 0, fmt.Errorf("ops: %s: upstream gradient is a %T of shape %v, want a float32 scalar: %w", what, v, shapeOf(v), ErrShape)
}

func shapeOf(v G.Value) tensor.Shape {
	if v == nil {
		return nil
	}
	return v.Shape()
}

// nominal returns the nominal size of one dimension of an input.
func nominal(in []G.DimSizer, input, dimension int) (int, error) {
	if input >= len(in) || in[input] == nil {
		return 0, fmt.Errorf("ops: input %d has no shape: %w", input, ErrShape)
	}
	return in[input].DimSize(dimension)
}
