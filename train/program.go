package train

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ErrNotFinite is wrapped by errors about a loss or gradient that overflowed.
var ErrNotFinite = errors.New("not finite")

var errClosed = errors.New("train: the program is closed")

// Program is a model compiled: its expression graph with gradients, and the
// order in which its ops run. Step is a pure function of parameters, batch and
// seed; it binds no values to the graph's nodes.
//
// All parameters lie in one flat slice and all gradients in another, in the
// order of Model.Parameters; the parameter nodes' values are views into the
// first. A program is for one goroutine, and a model for one program at a time:
// compiling it again, as Fit and BenchStep do, moves the parameters to the new
// one. Predict and Evaluate give them back.
type Program struct {
	model  Model
	params []parameter
	values []float32 // of all parameters
	grads  []float32
	loss   float32

	step    *sequence
	forward *sequence // logits only; made when first wanted
	logits  []float32
	memory  ops.Memory // of both

	engine engine // what computes in place of the sequences; nil: they do
	ahead  bool   // its parameters are newer than values
}

// parameter is a named float32 tensor of a model.
type parameter struct {
	parameterMeta
	node   *G.Node
	values []float32 // the node's value, aliased
}

// parameters returns the model's parameters with their values.
func (m *Model) parameters() ([]parameter, error) {
	if m.Batch == nil || m.Loss == nil || m.Logits == nil {
		return nil, errIncomplete
	}
	nodes := m.Parameters
	if nodes == nil {
		nodes = learnable(m.Loss)
	}
	params := make([]parameter, 0, len(nodes))
	seen := map[string]bool{}
	for k, n := range nodes {
		if n == nil || n.Value() == nil {
			return nil, fmt.Errorf("train: parameter %d (%v) has no value", k, n)
		}
		dense, ok := n.Value().(*tensor.Dense)
		if !ok || dense.Dtype() != tensor.Float32 || dense.RequiresIterator() {
			return nil, fmt.Errorf("train: parameter %q is %v, want a contiguous float32 tensor", n.Name(), n.Type())
		}
		if seen[n.Name()] {
			return nil, fmt.Errorf("train: two parameters are named %q", n.Name())
		}
		seen[n.Name()] = true
		params = append(params, parameter{
			parameterMeta: parameterMeta{Name: n.Name(), Shape: append([]int(nil), dense.Shape()...)},
			node:          n,
			values:        dense.Float32s(),
		})
	}
	if len(params) == 0 {
		return nil, fmt.Errorf("train: the loss depends on no parameter")
	}
	return params, nil
}

// parameterCount returns the number of values of all parameters.
func parameterCount(params []parameter) int {
	n := 0
	for _, p := range params {
		n += len(p.values)
	}
	return n
}

// learnable returns the float32 tensors with a value among the inputs that n
// depends on, in the order they joined the graph.
func learnable(n *G.Node) G.Nodes {
	var nodes G.Nodes
	for _, in := range n.Graph().ExactSubgraphRoots(n).Inputs() {
		if dense, ok := in.Value().(*tensor.Dense); ok && dense.Dims() > 0 && dense.Dtype() == tensor.Float32 {
			nodes = append(nodes, in)
		}
	}
	return nodes
}

// NewProgram differentiates m's loss and orders the ops. Close ends it. The graph
// keeps a few small nodes of every program. The error wraps ErrModelInUse while m
// is trained: the program would take its parameters away.
func NewProgram(m Model) (*Program, error) {
	if err := m.lock(); err != nil {
		return nil, err
	}
	defer m.Batch.Unlock()
	return compile(m)
}

// compile is NewProgram for one that has locked the model.
func compile(m Model) (p *Program, err error) {
	// Gorgonia's differentiation and compiler panic on graphs they cannot take.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("train: compiling the model: %v%s", r, panicPlace())
		}
	}()
	params, err := m.parameters()
	if err != nil {
		return nil, err
	}
	p = &Program{model: m, params: params}
	size := parameterCount(params)
	if err := memory.Check("train: parameters and gradients", 2*4*int64(size)); err != nil {
		return nil, err
	}
	p.values, p.grads = make([]float32, size), make([]float32, size)
	nodes := make(G.Nodes, len(params))
	at := 0
	for k := range params {
		q := &params[k]
		view := p.values[at : at+len(q.values) : at+len(q.values)]
		copy(view, q.values)
		q.values = view
		value := tensor.New(tensor.WithShape(q.Shape...), tensor.WithBacking(view))
		if err := G.Let(q.node, value); err != nil {
			return nil, fmt.Errorf("train: parameter %q: %w", q.Name, err)
		}
		nodes[k] = q.node
		at += len(view)
	}
	grads, err := gradients(m.Loss, nodes)
	if err != nil {
		return nil, fmt.Errorf("train: differentiating the loss: %w", err)
	}
	if m.Device != nil {
		if p.engine, err = newEngine(m, params, grads); err != nil {
			return nil, fmt.Errorf("train: compiling the model for its device: %w", err)
		}
		return p, nil
	}
	lossTap, err := newTap(m.Loss, func(v G.Value) error { return p.readLoss(v) })
	if err != nil {
		return nil, fmt.Errorf("train: the loss: %w", err)
	}
	// From the last parameter to the first: the gradients of a layer's are then
	// computed while what they are computed from is in cache.
	taps := G.Nodes{lossTap}
	at = size
	for k := len(params) - 1; k >= 0; k-- {
		q := params[k]
		at -= len(q.values)
		dst := p.grads[at : at+len(q.values)]
		ops.PutInto(grads[k], dst)
		tap, err := newTap(grads[k], func(v G.Value) error { return copyFloats(dst, v) })
		if err != nil {
			return nil, fmt.Errorf("train: gradient of parameter %q: %w", q.Name, err)
		}
		taps = append(taps, tap)
	}
	if p.step, err = newSequence(taps, &p.memory); err != nil {
		return nil, fmt.Errorf("train: compiling the model: %w", err)
	}
	return p, nil
}

// gradients returns the derivatives of loss with regard to nodes. A graph can be
// differentiated only once: where it was, by an earlier program or by the
// caller, the derivatives are there to use.
func gradients(loss *G.Node, nodes G.Nodes) (G.Nodes, error) {
	if loss.Deriv() == nil {
		return G.Grad(loss, nodes...)
	}
	// The derivative of a loss by itself is the constant 1.
	if one := loss.Deriv().Value(); one == nil || one.Data() != float32(1) {
		return nil, fmt.Errorf("it is part of another loss that was differentiated before")
	}
	grads := make(G.Nodes, len(nodes))
	for k, n := range nodes {
		if grads[k] = n.Deriv(); grads[k] == nil {
			return nil, fmt.Errorf("it was differentiated before, but not by %q", n.Name())
		}
	}
	return grads, nil
}

// Step computes the loss of one mini-batch and its gradients, which Gradients
// then returns; parameters stay as they are. seed decides what is random in the
// model (dropout). The error wraps ErrNotFinite if the loss or a gradient is
// not finite. It allocates a few kilobytes, whatever the size of the batch.
func (p *Program) Step(batch *samplers.Batch, seed uint64) (float64, error) {
	loss, err := p.compute(batch, seed)
	if errors.Is(err, ErrNotFinite) {
		err = fmt.Errorf("train: %w", err)
	}
	return loss, err
}

// compute is Step, but for the package's name in its own errors, which Fit puts
// before the batch's number.
func (p *Program) compute(batch *samplers.Batch, seed uint64) (float64, error) {
	if err := p.model.Batch.Set(batch, true, seed); err != nil {
		return 0, err
	}
	var err error
	switch {
	case p.engine != nil:
		err = p.stepOnDevice()
	case p.step != nil:
		err = p.step.run()
	default:
		err = errClosed
	}
	switch {
	case err != nil:
		return 0, err
	case !kernel.Finite([]float32{p.loss}):
		return 0, fmt.Errorf("the loss is %v: %w", p.loss, ErrNotFinite)
	case !kernel.Finite(p.grads):
		return 0, fmt.Errorf("the loss is %v, but its gradient overflowed: %w", p.loss, ErrNotFinite)
	}
	return float64(p.loss), nil
}

// Forward returns the logits of one mini-batch, as in evaluation: without
// dropout. They are the caller's until the next call.
func (p *Program) Forward(batch *samplers.Batch) (logits []float32, err error) {
	if p.step == nil && p.engine == nil {
		return nil, errClosed
	}
	if p.engine == nil && p.forward == nil {
		if err := p.compileForward(); err != nil {
			return nil, err
		}
	}
	if err := p.model.Batch.Set(batch, false, 0); err != nil {
		return nil, err
	}
	if p.engine != nil {
		err = p.forwardOnDevice()
	} else {
		err = p.forward.run()
	}
	if err != nil {
		return nil, err
	}
	return p.logits, nil
}

func (p *Program) compileForward() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("train: compiling the model's logits: %v%s", r, panicPlace())
		}
	}()
	tap, err := newTap(p.model.Logits, func(v G.Value) error {
		dense, ok := v.(*tensor.Dense)
		if !ok || dense.Dtype() != tensor.Float32 {
			return fmt.Errorf("logits are %T, want a float32 tensor", v)
		}
		p.logits = append(p.logits[:0], dense.Float32s()...)
		return nil
	})
	if err != nil {
		return fmt.Errorf("train: the logits: %w", err)
	}
	if p.forward, err = newSequence(G.Nodes{tap}, &p.memory); err != nil {
		return fmt.Errorf("train: compiling the model's logits: %w", err)
	}
	return nil
}

// Parameters returns the parameters' values, in the order of Model.Parameters,
// each row-major. Writing to the slice moves the model.
func (p *Program) Parameters() []float32 { return p.values }

// Gradients returns the gradients of the last Step, laid out as Parameters. The
// next Step overwrites them.
func (p *Program) Gradients() []float32 { return p.grads }

// Close ends the program. The model's parameters keep their values.
func (p *Program) Close() error {
	for _, s := range []*sequence{p.step, p.forward} {
		if s == nil {
			continue
		}
		for _, n := range s.nodes() { // they stay in the graph, and would hold on to the program
			if t, ok := n.Op().(*tap); ok {
				t.read = closedTap
			}
		}
	}
	p.step, p.forward = nil, nil
	if p.engine == nil {
		return nil
	}
	e := p.engine
	p.engine = nil
	return e.close()
}

func (p *Program) readLoss(v G.Value) error {
	switch data := v.Data().(type) {
	case float32:
		p.loss = data
	case []float32:
		if len(data) != 1 {
			return fmt.Errorf("the loss has %d values, want 1", len(data))
		}
		p.loss = data[0]
	default:
		return fmt.Errorf("the loss is %T, want float32", data)
	}
	return nil
}

// copyFloats copies a float32 tensor of exactly len(dst) values.
func copyFloats(dst []float32, v G.Value) error {
	dense, ok := v.(*tensor.Dense)
	if !ok || dense.Dtype() != tensor.Float32 {
		return fmt.Errorf("gradient is %T, want a float32 tensor", v)
	}
	src := dense.Float32s()
	if len(src) != len(dst) || dense.RequiresIterator() {
		return fmt.Errorf("gradient of %d values for a parameter of %d", len(src), len(dst))
	}
	if len(dst) > 0 && &src[0] != &dst[0] { // where the op did not put it there by itself
		copy(dst, src)
	}
	return nil
}

// tap is an op that hands its input to a function as soon as it is computed:
// Gorgonia may reuse the memory of a node's value before a run ends. It is an
// output of the graph, worth 0.
type tap struct {
	id     int64
	dims   int
	read   func(G.Value) error
	result G.Value
}

// closedTap is what a tap of a closed program reads by.
func closedTap(G.Value) error { return errClosed }

func newTap(n *G.Node, read func(G.Value) error) (*G.Node, error) {
	if n == nil {
		return nil, fmt.Errorf("there is none")
	}
	all := n.Graph().AllNodes()
	// The id of the node that the tap will get; the same in every process.
	t := &tap{id: all[len(all)-1].ID() + 1, dims: n.Dims(), read: read, result: G.NewF32(0)}
	return G.ApplyOp(t, n)
}

func (t *tap) Arity() int { return 1 }

func (t *tap) Type() hm.Type {
	a := hm.TypeVariable('a')
	if t.dims == 0 {
		return hm.NewFnType(a, a)
	}
	return hm.NewFnType(G.TensorType{Dims: t.dims, Of: a}, a)
}

func (t *tap) InferShape(...G.DimSizer) (tensor.Shape, error) { return tensor.ScalarShape(), nil }

func (t *tap) Do(in ...G.Value) (G.Value, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("train: %v has %d inputs, want 1", t, len(in))
	}
	return t.result, t.read(in[0])
}

// DiffWRT and SymDiff let Gorgonia see that no gradient comes this way: it
// refuses to differentiate a graph with ops that do not say.
func (t *tap) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

func (t *tap) SymDiff(G.Nodes, *G.Node, *G.Node) (G.Nodes, error) {
	return nil, fmt.Errorf("train: a tap has no derivative")
}

func (t *tap) ReturnsPtr() bool     { return false }
func (t *tap) CallsExtern() bool    { return false }
func (t *tap) OverwritesInput() int { return -1 }
func (t *tap) String() string       { return fmt.Sprintf("gcn/train.tap#%d", t.id) }

// WriteHash tells taps apart: Gorgonia merges nodes whose ops hash alike.
func (t *tap) WriteHash(h hash.Hash) { fmt.Fprint(h, t.String()) }

func (t *tap) Hashcode() uint32 {
	h := fnv.New32a()
	t.WriteHash(h)
	return h.Sum32()
}
