package plan

import (
	"errors"
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"
)

// Spec selects the part of an expression graph to compute.
type Spec struct {
	Output     *G.Node // a scalar loss, or a matrix such as logits; required
	Parameters G.Nodes // inputs of the graph; a backend holds them in one flat array
	Gradients  G.Nodes // one for each of Parameters, in a second flat array; nil: none

	// For a part of a graph: see Cut.
	Also      G.Nodes              // more values to read after a run
	Given     G.Nodes              // values that a run is given, in place of computing them
	Inference bool                 // see withoutTraining
	Constant  func(n *G.Node) bool // whether n's value stays from run to run; nil: none does
}

// Plan is the part of an expression graph that the output and the gradients
// depend on: ops in execution order. It is read-only, and the graph gets no new
// nodes.
type Plan struct {
	Spec
	steps    []step
	inputs   []input
	values   int                 // number of values
	memories int                 // number of memories that results share
	outputs  []int               // numbers of the values of Output and Also
	readers  map[*G.Node]G.Nodes // see Readers
}

// step is one op with the numbers of its input values and of its result.
type step struct {
	node *G.Node
	op   Op // nil: a plain op
	from []int
	to   int

	use Memory // of the op

	constant bool // see Executor.Begin

	memory    int   // of the result; −1: the op's own memory, a gradient's or an input's
	over      bool  // the op may overwrite an input
	inPlace   int   // the input value whose memory the result takes; −1: none
	gradients []int // parameters whose gradient the result is
	dead      []int // memories that are free after the step
}

// input is a node without an op: a parameter, or a value that the caller bound.
type input struct {
	node      *G.Node
	at        int // number of its value
	gradients []int
}

// New makes the plan of s. The output's ancestors come first, in topological
// order; then each gradient's, from the last parameter to the first, so that a
// layer's gradients are computed while their operands are in cache. Equal graphs
// give equal orders in every process. The error names a missing output or gradient,
// a cycle, or an op with a wrong number of inputs. Cost: linear in the graph, times
// the number of parameters.
func New(s Spec) (*Plan, error) {
	if s.Output == nil {
		return nil, errors.New("there is no output")
	}
	if s.Gradients != nil && len(s.Gradients) != len(s.Parameters) {
		return nil, fmt.Errorf("%d gradients of %d parameters", len(s.Gradients), len(s.Parameters))
	}
	p := &Plan{Spec: s, readers: make(map[*G.Node]G.Nodes)}
	b := builder{Plan: p, place: make(map[*G.Node]int)}
	for _, n := range append(G.Nodes{s.Output}, s.Also...) {
		if s.Inference {
			n = withoutTraining(n)
		}
		at, err := b.visit(n)
		if err != nil {
			return nil, err
		}
		p.outputs = append(p.outputs, at)
	}
	for k := len(s.Gradients) - 1; k >= 0; k-- {
		if s.Gradients[k] == nil {
			return nil, fmt.Errorf("parameter %q has no gradient", s.Parameters[k].Name())
		}
		if _, err := b.visit(s.Gradients[k]); err != nil {
			return nil, err
		}
	}
	p.share()
	return p, nil
}

type builder struct {
	*Plan
	place map[*G.Node]int // number of each node's value
}

const visiting = -1

// visit adds n after its ancestors, and returns the number of its value.
func (b *builder) visit(n *G.Node) (int, error) {
	if at, seen := b.place[n]; seen {
		if at == visiting {
			return 0, fmt.Errorf("node %v depends on itself", n)
		}
		return at, nil
	}
	if n.Op() == nil || slices.Contains(b.Given, n) {
		in := input{node: n, at: b.add(n), gradients: b.gradients(n)}
		b.inputs = append(b.inputs, in)
		return in.at, nil
	}
	b.place[n] = visiting
	op, _ := n.Op().(Op)
	s := step{
		node:      n,
		op:        op,
		use:       Memory{Access: Keeps},
		memory:    -1,
		inPlace:   -1,
		gradients: b.gradients(n),
	}
	if op != nil {
		s.use = op.Memory()
	}
	s.constant = b.Constant != nil && b.Constant(n)
	children := Children(n)
	if b.Inference {
		children = inputs(n)
	}
	for _, child := range children {
		at, err := b.visit(child)
		if err != nil {
			return 0, err
		}
		b.readers[child] = append(b.readers[child], n)
		s.from = append(s.from, at)
	}
	if len(s.from) == 0 && !n.IsScalar() && n.Op().Arity() == 1 { // Gorgonia's constants of tensors
		return 0, fmt.Errorf("the constant %q is no scalar: write gorgonia.NewMatrix or NewVector with WithShape and WithValue", n.Name())
	}
	if want := n.Op().Arity(); want >= 0 && want != len(s.from) {
		return 0, fmt.Errorf("op %v of %d inputs has %d", n.Op(), want, len(s.from))
	}
	s.to = b.add(n)
	b.steps = append(b.steps, s)
	return s.to, nil
}

func (b *builder) add(n *G.Node) int {
	b.place[n] = b.values
	b.values++
	return b.place[n]
}

// gradients returns the parameters whose gradient is n.
func (p *Plan) gradients(n *G.Node) []int {
	var of []int
	for k, gradient := range p.Gradients {
		if gradient == n {
			of = append(of, k)
		}
	}
	return of
}

// share finds the ops that may overwrite an input, and gives each result a
// memory. It prefers the most recently released memory, which is still in cache.
func (p *Plan) share() {
	readers := make([]int, p.values)
	outputs := slices.Clone(p.outputs)
	for _, at := range outputs {
		readers[at]++
	}
	for k := range p.steps {
		s := &p.steps[k]
		readers[s.to] += len(s.gradients)
		if s.constant {
			outputs = append(outputs, s.to)
			readers[s.to]++
		}
		for _, at := range s.from {
			readers[at]++
		}
	}
	home := make([]int, p.values)  // the value whose memory this value uses
	last := make([]int, p.values)  // the last step that reads this memory
	kept := make([]bool, p.values) // this memory is read after its last reader
	ours := make([]bool, p.values) // the result of an Op
	for k := range home {
		home[k], last[k] = k, -1
	}
	for k := range p.steps {
		s := &p.steps[k]
		m := s.use
		ours[s.to] = s.op != nil
		last[s.to] = k
		for _, at := range s.from {
			last[home[at]] = k
			if m.Access == Keeps {
				kept[home[at]] = true
			}
		}
		if m.Access != OverResult && m.Access != OverState {
			continue
		}
		over := s.from[m.Input]
		if readers[over] != 1 || !ours[over] {
			continue
		}
		switch {
		case m.Access == OverState:
			s.over, kept[home[over]] = true, true
		case len(s.gradients) == 0: // a gradient goes to the gradients' array
			s.over, s.inPlace, home[s.to] = true, over, home[over]
		}
	}
	for _, at := range outputs { // they are read after the run
		kept[home[at]] = true
	}
	p.assign(last, kept)
}

// assign numbers the memories. Gradients and results that overwrite an input need
// none.
func (p *Plan) assign(last []int, kept []bool) {
	var free freeList
	for k := range p.steps {
		s := &p.steps[k]
		switch {
		case s.op == nil || len(s.gradients) > 0 || s.inPlace >= 0:
		case kept[s.to]:
			s.memory = free.add()
		default:
			s.memory = free.take(s.node.Shape().TotalSize())
			end := &p.steps[last[s.to]]
			end.dead = append(end.dead, s.memory)
		}
		free.free = append(free.free, s.dead...)
	}
	p.memories = len(free.sizes)
}

// freeList hands out memories, by number, for values of given nominal sizes.
type freeList struct {
	sizes []int // size of the largest value in each memory
	free  []int // free memories, the most recently released last
}

// add returns a new memory.
func (f *freeList) add() int {
	f.sizes = append(f.sizes, 0)
	return len(f.sizes) - 1
}

// take returns the most recently released memory that holds n elements. If none is
// large enough, the most recently released one grows; if none is free, a new one
// is made.
func (f *freeList) take(n int) int {
	if len(f.free) == 0 {
		f.free = append(f.free, f.add())
	}
	at := len(f.free) - 1
	for k, memory := range f.free {
		if f.sizes[memory] >= n {
			at = k
		}
	}
	memory := f.free[at]
	f.free = slices.Delete(f.free, at, at+1)
	f.sizes[memory] = max(f.sizes[memory], n)
	return memory
}

// Children returns the inputs of n's op in their order.
func Children(n *G.Node) G.Nodes {
	var children G.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		children = append(children, it.Node().(*G.Node))
	}
	return children
}

// withoutTraining returns the node whose value n has in inference: n, or the first input of an
// op that only does something in training, such as dropout.
func withoutTraining(n *G.Node) *G.Node {
	for {
		op, ok := n.Op().(interface{ OnlyTraining() bool })
		if !ok || !op.OnlyTraining() {
			return n
		}
		n = Children(n)[0]
	}
}
