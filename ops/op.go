package ops

import (
	"fmt"
	"hash"
	"slices"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/plan"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ErrShape is wrapped by errors about values, blocks or labels whose sizes do not match.
var ErrShape = plan.ErrShape

// base implements the methods that are equal for most ops of this package: a unique
// identity, the types and nominal shapes that apply is given, and a result in the plan's
// buffer. An op adds the rest of plan.Op, which is Compute. An op with a gradient has a method
// differentiate, which adds the gradients of its inputs. out is the op's result, grad the gradient
// of out.
//
// The fields of an op do not change after apply. The data of a run is in plan.StateOf.
type base struct {
	name   string
	id     int64
	inputs G.Nodes
	shape  tensor.Shape // nominal, of the result
	wanted []bool       // inputs that get a gradient: those that are not constant

	constant bool // no input gets one

	slot   *Slot        // whose blocks the op reads; or nil
	parts  blockParts   // of these blocks, that it reads on a device
	rows   plan.RowKind // of the result
	memory plan.Memory  // zero: the op overwrites and keeps no input
	op     graphOp      // that embeds this base
	node   *G.Node      // of op
	own    *ownRun
	call   plan.Call // of Gorgonia's own machines
}

// graphOp is an op of this package.
type graphOp interface {
	plan.Op
	common() *base
}

// ownRun is the run of Gorgonia's own machines. All ops of a graph share it.
type ownRun struct {
	run   *plan.Run
	nodes int // of the graph at that time
}

func (b *base) common() *base { return b }

func (b *base) Memory() plan.Memory { return b.memory }

// Rows returns the op's slot, and the nodes to which the rows of the result belong.
func (b *base) Rows() (slot any, rows plan.RowKind) { return b.slot, b.rows }

// Place makes each run on a device send the parts of the block that the op reads.
func (b *base) Place(r *plan.Run) error {
	if b.slot != nil && (!r.Inference || b.parts != partNoise) { // inference drops nothing
		slotOf(r, b.slot).needs |= b.parts
	}
	return nil
}

// upstream returns input k of c, the gradient of a result, which is input 0.
func upstream(c *plan.Call, k int) plan.Matrix {
	out, grad := c.Matrix(0), c.Matrix(k)
	if grad.Rows != out.Rows || grad.Cols != out.Cols {
		c.Sizes("gradient is %d×%d, its output %d×%d", grad.Rows, grad.Cols, out.Rows, out.Cols)
	}
	return grad
}

// Do computes the op in Gorgonia's own machines. A graph that has grown may read more of an
// op's data than the run has kept: it gets a new run.
func (b *base) Do(in ...G.Value) (G.Value, error) {
	g := b.node.Graph()
	if n := len(g.AllNodes()); n != b.own.nodes {
		b.own.run = plan.NewRun(plan.Whole(g))
		b.own.nodes = n
	}
	return b.call.Do(b.own.run, b.op, in...)
}

func (b *base) Arity() int            { return len(b.inputs) }
func (b *base) ReturnsPtr() bool      { return false }
func (b *base) CallsExtern() bool     { return false }
func (b *base) OverwritesInput() int  { return -1 }
func (b *base) String() string        { return fmt.Sprintf("%s#%d", b.name, b.id) }
func (b *base) WriteHash(h hash.Hash) { fmt.Fprintf(h, "gcn/ops.%s#%d", b.name, b.id) }
func (b *base) DiffWRT(int) []bool    { return b.wanted }

func (b *base) Hashcode() uint32 { return uint32(b.id) }

// Type returns a new function type at every call, since Gorgonia recycles it.
func (b *base) Type() hm.Type {
	var types []hm.Type
	for _, n := range b.inputs {
		types = append(types, n.Type())
	}
	if dims := b.shape.Dims(); dims > 0 {
		return hm.NewFnType(append(types, G.TensorType{Dims: dims, Of: tensor.Float32})...)
	}
	return hm.NewFnType(append(types, tensor.Float32)...)
}

func (b *base) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return b.shape.Clone(), nil
}

func (b *base) SymDiff(_ G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	op, ok := b.op.(interface {
		differentiate(d *gradients, out, grad *G.Node)
	})
	if !ok {
		return nil, fmt.Errorf("ops: %s has no derivative", b.name)
	}
	d := &gradients{of: b, nodes: make(G.Nodes, len(b.inputs))}
	op.differentiate(d, out, grad)
	return d.nodes, d.err
}

// checkMatrix returns an error if the nodes are not float32 matrices in one graph.
func checkMatrix(what string, nodes ...*G.Node) error {
	return checkNodes(what, "a float32 matrix", nodes[0], func(n *G.Node) bool { return n.Dims() == 2 }, nodes...)
}

// checkSlot is checkMatrix of an op's input over slot, which must not be nil.
func checkSlot(what string, slot *Slot, input *G.Node) error {
	if slot == nil {
		return fmt.Errorf("ops: %s needs a slot", what)
	}
	return checkMatrix(what, input)
}

// checkVectors returns an error if the vectors are not float32 vectors of the given length in x's
// graph.
func checkVectors(what string, x *G.Node, length int, vectors ...*G.Node) error {
	fits := func(n *G.Node) bool { return n.Dims() == 1 && n.Shape()[0] == length }
	return checkNodes(what, fmt.Sprintf("a float32 vector of %d", length), x, fits, vectors...)
}

// checkNodes returns an error if a node is nil, in no graph or in another graph than first, or if
// fits refuses it; want describes what fits. Without the check Gorgonia panics.
func checkNodes(what, want string, first *G.Node, fits func(*G.Node) bool, nodes ...*G.Node) error {
	for _, n := range nodes {
		switch {
		case n == nil:
			return fmt.Errorf("ops: %s: an input is nil", what)
		case n.Graph() == nil:
			return fmt.Errorf("ops: %s: input %q is in no graph: write a constant as gorgonia.NewMatrix or NewVector with WithShape and WithValue", what, n.Name())
		case n.Graph() != first.Graph():
			return fmt.Errorf("ops: %s: input %q is in another graph than the others", what, n.Name())
		case !fits(n) || n.Dtype() != tensor.Float32:
			return fmt.Errorf("ops: %s: input %q is a %v of shape %v, want %s: %w", what, n.Name(), n.Type(), n.Shape(), want, ErrShape)
		}
	}
	return nil
}

// apply adds op to the graph of its inputs. shape is the nominal shape of the result. The
// caller has checked the inputs. Gorgonia merges nodes whose ops have equal hashes; two dropouts
// of one input would become one. The id of the next node makes the hash unique, and is the same
// in every process that builds the graph.
func apply(op graphOp, shape tensor.Shape, inputs ...*G.Node) (*G.Node, error) {
	b, all := op.common(), inputs[0].Graph().AllNodes()
	b.op = op
	b.shape = shape
	b.inputs = inputs
	b.own = new(ownRun)
	b.id = all[len(all)-1].ID() + 1
	for _, n := range inputs {
		b.wanted = append(b.wanted, !b.constant && !Constant(n))
	}
	for _, n := range slices.Backward(all) {
		if of, ok := n.Op().(graphOp); ok {
			b.own = of.common().own
			break
		}
	}
	var err error
	if b.node, err = G.ApplyOp(op, inputs...); err != nil {
		return nil, fmt.Errorf("ops: %v: %w", op, err)
	}
	return b.node, nil
}

// applySource is apply for an op without inputs. Gorgonia's ops need one: the op ignores
// a constant.
func applySource(g *G.ExprGraph, op graphOp, shape tensor.Shape) (*G.Node, error) {
	return apply(op, shape, g.AddNode(G.NewConstant(float32(0), G.WithName("gcn/ops.source"))))
}

// gradients are the nodes that SymDiff returns, one for each input of its op, and the first error.
type gradients struct {
	of    *base
	nodes G.Nodes
	err   error
}

// add makes op's result the gradient of input k, if that gets one.
func (d *gradients) add(k int, op graphOp, inputs ...*G.Node) {
	if d.err == nil && d.of.wanted[k] {
		op.common().constant = true // there are no second derivatives
		d.nodes[k], d.err = apply(op, d.of.inputs[k].Shape(), inputs...)
	}
}

// pass makes n the gradient of input k, if that gets one.
func (d *gradients) pass(k int, n *G.Node) {
	if d.of.wanted[k] {
		d.nodes[k] = n
	}
}

// backward is a gradient that a method of its forward op computes. It may read the forward op's
// state. An op whose gradient reads no value of its makes its output an input of the gradient, for
// the order: the upstream gradient may be known before the forward op has run.
type backward struct {
	base
	forward *base
	compute func(c *plan.Call) error
}

// backward returns a gradient with the name of the op and a suffix.
func (b *base) backward(suffix string, compute func(c *plan.Call) error) *backward {
	return &backward{base: base{name: b.name + suffix, constant: true}, forward: b, compute: compute}
}

func (op *backward) Compute(c *plan.Call) error { return op.compute(c) }

// readsBack reports whether a gradient of the op reads its result in p.
func (b *base) readsBack(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Readers(b.node), func(r *G.Node) bool {
		op, ok := r.Op().(*backward)
		return ok && op.forward == b
	})
}

// Constant reports whether n depends on features alone, and on no input node of the graph through
// differentiable ops. Features are not differentiable. Such a node gets no gradient.
func Constant(n *G.Node) bool {
	if n.Op() == nil {
		return false
	}
	op, ok := n.Op().(G.SDOp)
	if !ok {
		return true
	}
	children := plan.Children(n)
	for k, wanted := range op.DiffWRT(len(children)) {
		if wanted && !Constant(children[k]) {
			return false
		}
	}
	return true
}

// onHost returns the elements of m: a copy if m is on d, and not on the CPU.
func onHost(d *device.Device, m plan.Matrix) ([]float32, error) {
	if d == nil {
		return m.Data, nil
	}
	data := make([]float32, m.Rows*m.Cols)
	return data, device.Read(d, data, m.At)
}

// scratch returns a slice of length n, in the memory of s if n fits. The elements are not
// initialised.
func scratch[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }
