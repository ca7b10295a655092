package plan

import G "gorgonia.org/gorgonia"

// Value runs the plan of an output alone, on the CPU, and returns its value.
func Value(output *G.Node) (G.Value, error) {
	p, err := New(Spec{Output: output})
	if err != nil {
		return nil, err
	}
	return new(cpu).newRun(p).run()
}

// Sharing returns how many values die in a run of b's step on the CPU, and how
// many are overwritten.
func Sharing(b Backend) (dead, over int) {
	for _, s := range b.(*cpu).step.plan.steps {
		dead += len(s.dead)
		if s.over {
			over++
		}
	}
	return dead, over
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
