package plan

import (
	"math"

	G "gorgonia.org/gorgonia"
)

// Value runs the plan of an output alone, on the CPU, and returns its value.
func Value(output *G.Node) (G.Value, error) {
	p, err := New(Spec{Output: output})
	if err != nil {
		return nil, err
	}
	return new(cpu).newRun(p).run()
}

// Poison makes every run of b, on the CPU, fill memory with NaN as soon as no op
// may read it any more. It returns how many values die in a run, and how many are
// overwritten.
func Poison(b Backend) (dead, over int) {
	c := b.(*cpu)
	for k := range c.step.plan.steps {
		s := &c.step.plan.steps[k]
		dead += len(s.dead)
		if s.over {
			over++
		}
		if s.op != nil {
			s.op = &poisoning{Op: s.op, dead: s.dead, memories: c.memories}
		}
	}
	return dead, over
}

// poisoning is an op after which some memories are dead.
type poisoning struct {
	Op
	dead     []int
	memories []*memory
}

func (p *poisoning) Compute(out *Buffer, over bool, in ...G.Value) (G.Value, error) {
	v, err := p.Op.Compute(out, over, in...)
	for _, k := range p.dead {
		data := p.memories[k].data
		for i := range data[:cap(data)] {
			data[:cap(data)][i] = float32(math.NaN())
		}
	}
	return v, err
}

// FreeListTake returns the size of the memory that n elements get where memories
// of the given sizes are free, in the order of their release, and how many are
// left.
func FreeListTake(sizes []int, n int) (size, left int) {
	f := freeList{sizes: append([]int(nil), sizes...)}
	for k := range sizes {
		f.release(k)
	}
	k := f.take(n)
	if k >= len(sizes) {
		return 0, len(f.free)
	}
	return sizes[k], len(f.free)
}

// Run runs p on the CPU and returns its output's value.
func Run(p *Plan, m Model) (G.Value, error) { return (&cpu{model: m}).newRun(p).run() }
