package train

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/ops"
)

// sequence runs the part of an expression graph that some outputs need, op by
// op, on the caller's goroutine. It stands in for Gorgonia's TapeMachine, which
// runs the same ops on a goroutine of its own while the caller's waits, locked
// to its thread: two changes of thread a run, often of core and cache too, and
// a panic there ends the process.
//
// Values stay with the sequence: no node is bound to one. An op that keeps its
// own output, as those of package ops do, makes a run free of allocations. Ops
// write over each other's outputs only where nothing reads those any more.
type sequence struct {
	calls  []call
	inputs []input
	values []G.Value
	memory *ops.Memory
}

// call is one op with the places of its inputs and of its output in values.
type call struct {
	node *G.Node
	op   G.Op
	from []int
	in   []G.Value // the inputs' values, to be passed on
	to   int
	over ops.Overwriter // op, if it may overwrite an input; or nil
	dead G.Nodes        // whose values nothing reads after it: their memory is free
}

// input is a node without an op: a parameter, a constant.
type input struct {
	node *G.Node
	at   int
}

// newSequence orders what outputs depend on, each output, and what only it
// needs, after the outputs before it. The order is the same in every process.
// The ops share memory, of which there is one for all sequences over a graph.
func newSequence(outputs G.Nodes, memory *ops.Memory) (*sequence, error) {
	s := &sequence{memory: memory}
	const underWay = -1
	place := make(map[*G.Node]int)
	add := func(n *G.Node) int {
		place[n] = len(s.values)
		s.values = append(s.values, nil)
		return place[n]
	}
	var visit func(n *G.Node) (int, error)
	visit = func(n *G.Node) (int, error) {
		if at, seen := place[n]; seen {
			if at == underWay {
				return 0, fmt.Errorf("node %v depends on itself", n)
			}
			return at, nil
		}
		if n.Op() == nil {
			at := add(n)
			s.inputs = append(s.inputs, input{n, at})
			return at, nil
		}
		place[n] = underWay
		c := call{node: n, op: n.Op()}
		for it := n.Graph().From(n.ID()); it.Next(); {
			at, err := visit(it.Node().(*G.Node))
			if err != nil {
				return 0, err
			}
			c.from = append(c.from, at)
		}
		if want := c.op.Arity(); want >= 0 && want != len(c.from) {
			return 0, fmt.Errorf("op %v of %d inputs has %d", c.op, want, len(c.from))
		}
		c.in = make([]G.Value, len(c.from))
		c.to = add(n)
		s.calls = append(s.calls, c)
		return c.to, nil
	}
	for _, n := range outputs {
		if _, err := visit(n); err != nil {
			return nil, err
		}
	}
	s.share(place, outputs)
	return s, nil
}

// share lets ops write over what is read by them alone, and lends memory for
// the values that are dead before the end.
func (s *sequence) share(place map[*G.Node]int, outputs G.Nodes) {
	readers := make([]int, len(s.values))
	kept := make([]bool, len(s.values)) // to the end, or longer
	for _, n := range outputs {
		readers[place[n]]++
		kept[place[n]] = true
	}
	for _, c := range s.calls {
		for _, at := range c.from {
			readers[at]++
		}
	}
	home := make([]int, len(s.values)) // the place whose op's memory holds a value
	last := make([]int, len(s.values)) // the last call that reads what is there
	for k := range home {
		home[k] = k
	}
	for k := range s.calls {
		c := &s.calls[k]
		_, isTap := c.op.(*tap)
		for _, at := range c.from {
			last[home[at]] = k
			if !isTap && ops.Retains(c.node) {
				kept[home[at]] = true
			}
		}
		op, input, result, ok := ops.Overwrites(c.node)
		if !ok || readers[c.from[input]] != 1 {
			continue
		}
		c.over = op
		if result {
			home[c.to] = home[c.from[input]]
		} else {
			kept[home[c.from[input]]] = true
		}
	}
	for k := range s.calls {
		c := &s.calls[k]
		if home[c.to] == c.to && !kept[c.to] && s.memory.Lend(c.node) {
			end := &s.calls[last[c.to]]
			end.dead = append(end.dead, c.node)
		}
	}
}

// nodes returns the nodes with an op, in the order of a run.
func (s *sequence) nodes() G.Nodes {
	nodes := make(G.Nodes, len(s.calls))
	for k, c := range s.calls {
		nodes[k] = c.node
	}
	return nodes
}

// run computes all ops. A panic of one becomes an error.
func (s *sequence) run() (err error) {
	var current G.Op
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("train: op %v panicked: %v%s", current, r, panicPlace())
		}
	}()
	for _, in := range s.inputs {
		if s.values[in.at] = in.node.Value(); s.values[in.at] == nil {
			return fmt.Errorf("train: input %q of the model has no value", in.node.Name())
		}
	}
	for k := range s.calls {
		c := &s.calls[k]
		for i, at := range c.from {
			c.in[i] = s.values[at]
		}
		current = c.op
		if c.over != nil {
			s.values[c.to], err = c.over.DoOver(c.in...)
		} else {
			s.values[c.to], err = c.op.Do(c.in...)
		}
		if err != nil {
			return fmt.Errorf("train: op %v: %w", c.op, err)
		}
		for _, n := range c.dead {
			s.memory.Return(n)
		}
	}
	return nil
}
