package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// cpu is the host's backend. It runs the ops one after the other on the caller's
// goroutine. Gorgonia's TapeMachine would use a second goroutine, locked to a
// thread: two thread switches a run, and a panic there ends the process.
type cpu struct {
	model   Model
	step    *CPURun
	forward *CPURun // nil before the first Forward

	loss   float32
	m, v   []float32 // the moments; the caller owns them
	losses []float32 // since the last Settle
	failed int       // the first update that was not finite; 0: none
}

func (c *cpu) Run() error {
	v, err := c.step.Compute()
	if err != nil {
		return err
	}
	loss, err := FloatsOf(v)
	if err != nil {
		return fmt.Errorf("the loss: %w", err)
	}
	if len(loss) != 1 {
		return fmt.Errorf("the loss has %d values, want 1", len(loss))
	}
	c.loss = loss[0]
	return nil
}

func (c *cpu) Loss() (float32, error) { return c.loss, nil }

func (c *cpu) Update(a Adam, step int) error {
	c.losses = append(c.losses, c.loss)
	switch {
	case c.failed != 0:
	case len(c.m) != len(c.model.Values) || len(c.v) != len(c.model.Values):
		return fmt.Errorf("update of %d parameters with moments of %d and %d", len(c.model.Values), len(c.m), len(c.v))
	case !kernel.Finite([]float32{c.loss}) || !kernel.Finite(c.model.Grads):
		c.failed = step
	default:
		values, grads, n := c.model.Values, c.model.Grads, len(c.model.Values)-c.model.Averages
		kernel.Clip(grads[:n], a.Clip)
		kernel.AdamStep(values[:n], grads[:n], c.m[:n], c.v[:n], step, a.Adam)
		Average(values[n:], grads[n:])
	}
	return nil
}

func (c *cpu) Depth() int { return 1 }

func (c *cpu) Settle() ([]float32, int, error) {
	losses, failed := c.losses, c.failed
	c.losses, c.failed = c.losses[:0], 0
	return losses, failed, nil
}

func (c *cpu) Push(m, v []float32) error {
	if m != nil {
		c.m, c.v = m, v
	}
	return nil
}

func (c *cpu) Pull(_, _ []float32) error { return nil }

func (c *cpu) Forward(dst []float32) ([]float32, error) {
	if c.forward == nil {
		p, err := New(Spec{Output: c.model.Logits, Parameters: c.model.Parameters})
		if err != nil {
			return dst, err
		}
		c.forward = NewCPURun(p, nil, c.step)
	}
	v, err := c.forward.Compute()
	if err != nil {
		return dst, err
	}
	logits, err := FloatsOf(v)
	if err != nil {
		return dst, fmt.Errorf("the logits: %w", err)
	}
	return append(dst, logits...), nil
}

func (c *cpu) Products() []Product { return c.step.products() }

func (c *cpu) Close() error { return nil }

// CPURun runs a plan on the CPU, op by op on the caller's goroutine.
type CPURun struct {
	*Run
	values    []G.Value
	in        [][]G.Value // of each step
	buffers   []*Buffer   // of each step; nil for plain ops
	gradients [][]float32 // of each parameter; empty if the plan has none
	memories  []*memory
	into      []memory  // of the plan's results
	given     []G.Value // of each of the plan's inputs; nil: the value of its node
	check     bool      // as in Model
}

// NewCPURun returns a run of p. It writes p's gradients to grads, flat as in Model; grads may
// be nil if p has none. The run has memory of its own, or takes the memory of beside, if that
// is not nil: the two then never run at the same time.
func NewCPURun(p *Plan, grads []float32, beside *CPURun) *CPURun {
	r := &CPURun{Run: NewRun(p), values: make([]G.Value, p.values), given: make([]G.Value, len(p.inputs))}
	if beside != nil {
		r.memories, r.check = beside.memories, beside.check
	}
	for len(r.memories) < p.memories {
		r.memories = append(r.memories, new(memory))
	}
	r.into = make([]memory, len(p.results))
	for k := range p.Gradients {
		n := p.Parameters[k].Shape().TotalSize()
		r.gradients = append(r.gradients, grads[:n:n])
		grads = grads[n:]
	}
	r.in, r.buffers = make([][]G.Value, len(p.steps)), make([]*Buffer, len(p.steps))
	for k, s := range p.steps {
		r.in[k] = make([]G.Value, len(s.from))
		if s.op == nil {
			continue
		}
		r.buffers[k] = &Buffer{Over: s.over}
		switch {
		case len(s.gradients) > 0:
			r.buffers[k].memory = &memory{data: r.gradients[s.gradients[0]]}
		case s.memory >= 0:
			r.buffers[k].memory = r.memories[s.memory]
			if at := slices.Index(p.results, k); at >= 0 {
				r.buffers[k].memory = &r.into[at]
			}
		}
	}
	return r
}

// Give sets the value of n, if it is one of the plan's Given, for the next runs.
func (r *CPURun) Give(n *G.Node, v G.Value) {
	for k, in := range r.inputs {
		if in.node == n {
			r.given[k] = v
		}
	}
}

// Into makes the next run write the output, if k is 0, or value k−1 of the plan's Also to data,
// if it has as many values and the op that computes it can. Otherwise, and without Into, it is
// in memory of the run. Call it before each run, or never.
func (r *CPURun) Into(k int, data []float32) {
	r.into[k].data = data
}

// Forget drops the values of the last run, and what Give and Into were given.
func (r *CPURun) Forget() {
	clear(r.values)
	clear(r.given)
	clear(r.into)
	for _, in := range r.in {
		clear(in)
	}
	for _, k := range r.results {
		if k >= 0 {
			r.buffers[k].at, r.buffers[k].header = nil, nil
		}
	}
}

// Also returns value k of the plan's Also after a run. It is valid until the next one.
func (r *CPURun) Also(k int) G.Value { return r.values[r.also[k]] }

// Compute runs all ops over the current batch and returns the output's value, which is
// valid until the next call. A panic of an op becomes an error.
func (r *CPURun) Compute() (output G.Value, err error) {
	var current G.Op
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("op %v panicked: %v%s", current, p, crash.Place())
		}
	}()
	for k, in := range r.inputs {
		v := r.given[k]
		if v == nil {
			v = in.node.Value()
		}
		if v == nil {
			return nil, fmt.Errorf("input %q of the model has no value", in.node.Name())
		}
		r.values[in.at] = v
		if err := r.keepGradients(in.gradients, v); err != nil {
			return nil, err
		}
	}
	for k := range r.steps {
		s := &r.steps[k]
		in := r.in[k]
		for i, at := range s.from {
			in[i] = r.values[at]
		}
		current = s.node.Op()
		var before []uint64
		if r.check {
			before = checksums(s, in)
		}
		var v G.Value
		if s.op != nil {
			v, err = s.op.Compute(r.Run, r.buffers[k], in...)
		} else {
			v, err = current.Do(in...)
		}
		if err == nil {
			r.values[s.to] = v
			err = r.keepGradients(s.gradients, v)
		}
		if err == nil && r.check {
			err = errors.Join(checkInputs(before, checksums(s, in)), r.checkMemory(k, v))
		}
		if err != nil {
			return nil, fmt.Errorf("op %v: %w", current, err)
		}
	}
	return r.values[r.output], nil
}

// keepGradients copies v to the gradients of the given parameters, unless the op
// wrote it there. It copies at once, since a user's op may overwrite v later.
func (r *CPURun) keepGradients(parameters []int, v G.Value) error {
	for _, k := range parameters {
		dst := r.gradients[k]
		src, err := FloatsOf(v)
		if err == nil && len(src) != len(dst) {
			err = fmt.Errorf("%d values", len(src))
		}
		if err != nil {
			return fmt.Errorf("gradient of parameter %q, which has %d values: %w", r.Parameters[k].Name(), len(dst), err)
		}
		if unsafe.SliceData(src) != unsafe.SliceData(dst) {
			copy(dst, src)
		}
	}
	return nil
}

// checksums returns a checksum of each input of s that it may not overwrite.
func checksums(s *step, in []G.Value) []uint64 {
	sums := make([]uint64, len(in))
	for i, v := range in {
		if data, err := FloatsOf(v); err == nil && !(s.over && i == s.use.Over.Input) {
			for _, x := range data {
				sums[i] = (sums[i] ^ uint64(math.Float32bits(x))) * 1099511628211 // as FNV
			}
		}
	}
	return sums
}

// checkInputs returns an error if the checksum of an input has changed.
func checkInputs(before, after []uint64) error {
	for i, sum := range after {
		if sum != before[i] {
			return fmt.Errorf("it has written to its input %d, which its Memory does not say", i)
		}
	}
	return nil
}

// checkMemory returns an error if the result of step k is not in the memory that
// the op states, and fills dead memory with NaN.
func (r *CPURun) checkMemory(k int, v G.Value) error {
	s := &r.steps[k]
	if s.op != nil {
		data, err := FloatsOf(v)
		if err != nil {
			return err
		}
		want := r.buffers[k].at
		switch {
		case s.inPlace >= 0:
			over, err := FloatsOf(r.values[s.inPlace])
			if err != nil {
				return err
			}
			want = unsafe.SliceData(over)
		case s.memory < 0 && len(s.gradients) == 0:
			want = unsafe.SliceData(data) // elsewhere
		}
		if len(data) > 0 && unsafe.SliceData(data) != want {
			return errors.New("its result is not where its Memory says")
		}
	}
	for _, m := range s.dead {
		data := r.memories[m].data[:cap(r.memories[m].data)]
		for i := range data {
			data[i] = float32(math.NaN())
		}
	}
	return nil
}

// FloatsOf returns the elements of a float32 value on the host, in row-major order.
// They are v's own memory, or a copy where v is a view that is not contiguous. The
// error wraps ErrShape if v is not float32, or column-major.
func FloatsOf(v G.Value) ([]float32, error) {
	switch x := v.(type) {
	case nil:
		return nil, errors.New("there is no value")
	case *G.F32:
		return unsafe.Slice((*float32)(x), 1), nil
	case *tensor.Dense:
		if x.Dtype() != tensor.Float32 {
			break
		}
		if x.RequiresIterator() || x.DataOrder().IsColMajor() {
			m, ok := x.Materialize().(*tensor.Dense) // a view, such as a slice or a lazy transpose
			if !ok || m.DataOrder().IsColMajor() {
				break
			}
			x = m
		}
		if n := x.Shape().TotalSize(); len(x.Float32s()) >= n {
			return x.Float32s()[:n], nil
		}
	}
	return nil, fmt.Errorf("a %T of shape %v, want row-major float32: %w", v, v.Shape(), ErrShape)
}
