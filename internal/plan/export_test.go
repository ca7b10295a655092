package plan

import G "gorgonia.org/gorgonia"

// Value plans and runs an output on the CPU, and returns its value.
func Value(output *G.Node) (G.Value, error) {
	p, err := New(Spec{Output: output})
	if err != nil {
		return nil, err
	}
	e, err := NewExecutor(p, ExecutorOptions{})
	if err != nil {
		return nil, err
	}
	if err := e.Compute(); err != nil {
		return nil, err
	}
	return e.Result(0).Value()
}

// Sharing returns how many memories b's step releases on the CPU, and how many inputs
// it overwrites.
func Sharing(b Backend) (dead, over int) {
	for _, s := range b.(*cpu).steps {
		dead += len(s.dead)
		if s.over {
			over++
		}
	}
	return dead, over
}

// FreeListTake releases memories of the given sizes in that order, then takes one for
// n elements. It returns the size of the one taken, 0 if it is new, and the number of
// free ones left.
func FreeListTake(sizes []int, n int) (size, left int) {
	f := freeList{sizes: append([]int(nil), sizes...)}
	for k := range sizes {
		f.free = append(f.free, k)
	}
	k := f.take(n)
	if k >= len(sizes) {
		return 0, len(f.free)
	}
	return sizes[k], len(f.free)
}
