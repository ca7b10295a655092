package plan

import (
	"errors"
	"fmt"
	"slices"

	G "gorgonia.org/gorgonia"
)

// Spec says which part of an expression graph is computed.
type Spec struct {
	Output     *G.Node // a scalar loss, or a matrix such as logits; required
	Parameters G.Nodes // inputs of the graph, which lie in one flat array
	Gradients  G.Nodes // of Parameters, computed into another; nil: none
}

// Plan is the part of an expression graph that an output and gradients depend
// on: ops in the order of their run. It does not change; the graph gets no new
// nodes.
type Plan struct {
	Spec
	steps    []step
	inputs   []input
	values   int // number of values
	memories int // number of memories that results lie in
	output   int // the output's value
	readers  map[*G.Node]int
}

// step is one op with the numbers of the values that it reads and makes.
type step struct {
	node *G.Node
	op   Op // nil: a plain op
	from []int
	to   int

	memory    int   // of the result; −1: the op's own affair, or a gradient's place
	over      bool  // the op may overwrite an input
	inPlace   int   // the value whose memory the result then takes; −1: none
	gradients []int // parameters that the result is the gradient of
	dead      []int // memories that are free after the step
}

// input is a node without an op: a parameter, or a value that the caller bound.
type input struct {
	node      *G.Node
	at        int
	parameter int // its number; −1: none
	gradients []int
}

// New makes the plan of s: the nodes that the output depends on, then, from the
// last parameter to the first, those of the gradients. A layer's gradients are
// then computed while their operands are in cache. The order is the same in
// every process.
func New(s Spec) (*Plan, error) {
	if s.Output == nil {
		return nil, errors.New("there is no output")
	}
	if s.Gradients != nil && len(s.Gradients) != len(s.Parameters) {
		return nil, fmt.Errorf("%d gradients of %d parameters", len(s.Gradients), len(s.Parameters))
	}
	p := &Plan{Spec: s, readers: make(map[*G.Node]int)}
	b := builder{plan: p, place: make(map[*G.Node]int)}
	var err error
	if p.output, err = b.visit(s.Output); err != nil {
		return nil, err
	}
	for k := len(s.Gradients) - 1; k >= 0; k-- {
		if s.Gradients[k] == nil {
			return nil, fmt.Errorf("parameter %q has no gradient", s.Parameters[k].Name())
		}
		if _, err := b.visit(s.Gradients[k]); err != nil {
			return nil, err
		}
	}
	return p, b.share()
}

// Nodes returns the nodes with an op in the order of a run.
func (p *Plan) Nodes() G.Nodes {
	nodes := make(G.Nodes, len(p.steps))
	for k, s := range p.steps {
		nodes[k] = s.node
	}
	return nodes
}

// builder makes a plan.
type builder struct {
	plan  *Plan
	place map[*G.Node]int // of the values
}

const underWay = -1

// visit adds n after the nodes that it depends on, and returns its value's number.
func (b *builder) visit(n *G.Node) (int, error) {
	if at, seen := b.place[n]; seen {
		if at == underWay {
			return 0, fmt.Errorf("node %v depends on itself", n)
		}
		return at, nil
	}
	p := b.plan
	if n.Op() == nil {
		in := input{node: n, at: b.add(n), parameter: slices.Index(p.Parameters, n), gradients: b.gradients(n)}
		p.inputs = append(p.inputs, in)
		return in.at, nil
	}
	b.place[n] = underWay
	s := step{node: n, memory: -1, inPlace: -1, gradients: b.gradients(n)}
	for _, child := range Children(n) {
		at, err := b.visit(child)
		if err != nil {
			return 0, err
		}
		p.readers[child]++
		s.from = append(s.from, at)
	}
	if want := n.Op().Arity(); want >= 0 && want != len(s.from) {
		return 0, fmt.Errorf("op %v of %d inputs has %d", n.Op(), want, len(s.from))
	}
	s.to = b.add(n)
	p.steps = append(p.steps, s)
	return s.to, nil
}

func (b *builder) add(n *G.Node) int {
	b.place[n] = b.plan.values
	b.plan.values++
	return b.place[n]
}

// gradients returns the parameters that n is the gradient of.
func (b *builder) gradients(n *G.Node) []int {
	var of []int
	for k, gradient := range b.plan.Gradients {
		if gradient == n {
			of = append(of, k)
		}
	}
	return of
}

// share finds the ops that may overwrite an input, and gives each result a
// memory: one that a dead value has left, the last one left first, since that is
// still in cache.
func (b *builder) share() error {
	p := b.plan
	readers := make([]int, p.values)
	readers[p.output]++
	for k := range p.steps {
		s := &p.steps[k]
		readers[s.to] += len(s.gradients)
		for _, at := range s.from {
			readers[at]++
		}
	}
	home := make([]int, p.values)    // the value whose memory a value lies in
	last := make([]int, p.values)    // the last step that reads that memory
	kept := make([]bool, p.values)   // beyond the last reader
	buffer := make([]bool, p.values) // made in a buffer that nothing reads after the run
	stated := make([]Memory, len(p.steps))
	for k := range home {
		home[k], last[k] = k, -1
	}
	for k := range p.steps {
		s := &p.steps[k]
		stated[k], s.op = memoryOf(s.node)
		m := stated[k]
		if s.op != nil && m.Result == unknown {
			return fmt.Errorf("op %v: its Memory does not say where the result lies", s.op)
		}
		buffer[s.to] = m.Result == InBuffer
		last[s.to] = k
		for _, at := range s.from {
			last[home[at]] = k
			if m.KeepsInputs {
				kept[home[at]] = true
			}
		}
		if m.Over.By == Nothing {
			continue
		}
		over := s.from[m.Over.Input]
		if readers[over] != 1 || !buffer[over] {
			continue
		}
		s.over = true
		if m.Over.By == ByState {
			kept[home[over]] = true
		} else if len(s.gradients) == 0 {
			s.inPlace, home[s.to] = over, home[over]
		} else {
			s.over = false // its place is among the gradients
		}
	}
	kept[home[p.output]] = true // the output is read after the run
	b.assign(stated, home, last, kept)
	return nil
}

// assign numbers the memories. A gradient has its place already, and a result
// that overwrites an input lies there.
func (b *builder) assign(stated []Memory, home, last []int, kept []bool) {
	p := b.plan
	var free freeList
	for k := range p.steps {
		s := &p.steps[k]
		inBuffer := stated[k].Result == InBuffer || stated[k].Result == InBufferKept
		switch {
		case !inBuffer || len(s.gradients) > 0 || s.inPlace >= 0:
		case kept[s.to] || stated[k].Result == InBufferKept:
			s.memory = free.add()
		default:
			s.memory = free.take(s.node.Shape().TotalSize())
			end := &p.steps[last[s.to]]
			end.dead = append(end.dead, s.memory)
		}
		for _, memory := range s.dead {
			free.release(memory)
		}
	}
	p.memories = len(free.sizes)
}

// freeList hands out numbers of memories by the nominal sizes of their values.
type freeList struct {
	sizes []int // the largest value of each memory
	free  []int // the one left last is the last
}

// add returns a new memory.
func (f *freeList) add() int {
	f.sizes = append(f.sizes, 0)
	return len(f.sizes) - 1
}

// take returns the free memory left last that n elements fit in, or the one left
// last, which then grows, or a new one.
func (f *freeList) take(n int) int {
	if len(f.free) == 0 {
		f.free = append(f.free, f.add())
	}
	at := len(f.free) - 1
	for k := at; k >= 0; k-- {
		if f.sizes[f.free[k]] >= n {
			at = k
			break
		}
	}
	memory := f.free[at]
	f.free = slices.Delete(f.free, at, at+1)
	f.sizes[memory] = max(f.sizes[memory], n)
	return memory
}

func (f *freeList) release(memory int) { f.free = append(f.free, memory) }

// Children returns the inputs of n's op in their order.
func Children(n *G.Node) G.Nodes {
	var children G.Nodes
	for it := n.Graph().From(n.ID()); it.Next(); {
		children = append(children, it.Node().(*G.Node))
	}
	return children
}
