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
	model    Model
	memories []*memory // shared by both plans: no value outlives a run
	step     *cpuRun
	forward  *cpuRun // nil before the first Forward

	loss   float32
	m, v   []float32 // the moments; the caller owns them
	losses []float32 // since the last Settle
	failed int       // the first update that was not finite; 0: none
}

func newCPU(m Model) (Backend, error) {
	c := &cpu{model: m}
	p, err := m.step()
	if err != nil {
		return nil, err
	}
	c.step = c.newRun(p)
	return c, nil
}

func (c *cpu) Run() error {
	v, err := c.step.run()
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
		p, err := c.model.logits()
		if err != nil {
			return dst, err
		}
		c.forward = c.newRun(p)
	}
	v, err := c.forward.run()
	if err != nil {
		return dst, err
	}
	logits, err := FloatsOf(v)
	if err != nil {
		return dst, fmt.Errorf("the logits: %w", err)
	}
	return append(dst, logits...), nil
}

func (c *cpu) Nodes() G.Nodes { return c.step.plan.Nodes() }

func (c *cpu) Close() error { return nil }

type cpuRun struct {
	plan      *Plan
	values    []G.Value
	in        [][]G.Value // of each step
	buffers   []*Buffer   // of each step; nil for plain ops
	gradients [][]float32 // of each parameter; empty if the plan has none
	check     []*memory   // the memories to check; nil: no check
}

func (c *cpu) newRun(p *Plan) *cpuRun {
	for len(c.memories) < p.memories {
		c.memories = append(c.memories, new(memory))
	}
	r := &cpuRun{plan: p, values: make([]G.Value, p.values), in: make([][]G.Value, len(p.steps)), buffers: make([]*Buffer, len(p.steps))}
	if c.model.Check {
		r.check = c.memories
	}
	at := 0
	for k := range p.Gradients {
		n := p.Parameters[k].Shape().TotalSize()
		r.gradients = append(r.gradients, c.model.Grads[at:at+n:at+n])
		at += n
	}
	for k, s := range p.steps {
		r.in[k] = make([]G.Value, len(s.from))
		if s.op == nil {
			continue
		}
		r.buffers[k] = new(Buffer)
		switch {
		case len(s.gradients) > 0:
			r.buffers[k].shared = &memory{data: r.gradients[s.gradients[0]]}
		case s.memory >= 0:
			r.buffers[k].shared = c.memories[s.memory]
		}
	}
	return r
}

// run runs all ops and returns the output's value. A panic of an op becomes an
// error.
func (r *cpuRun) run() (output G.Value, err error) {
	var current G.Op
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("op %v panicked: %v%s", current, p, crash.Place())
		}
	}()
	for _, in := range r.plan.inputs {
		v := in.node.Value()
		if v == nil {
			return nil, fmt.Errorf("input %q of the model has no value", in.node.Name())
		}
		r.values[in.at] = v
		if err := r.keepGradients(in.gradients, v); err != nil {
			return nil, err
		}
	}
	for k := range r.plan.steps {
		s := &r.plan.steps[k]
		in := r.in[k]
		for i, at := range s.from {
			in[i] = r.values[at]
		}
		current = s.node.Op()
		var before [][]float32
		if r.check != nil {
			before = inputsOf(s, in)
		}
		var v G.Value
		if s.op != nil {
			v, err = s.op.Compute(r.buffers[k], s.over, in...)
		} else {
			v, err = current.Do(in...)
		}
		if err == nil {
			r.values[s.to] = v
			err = r.keepGradients(s.gradients, v)
		}
		if err == nil && r.check != nil {
			err = errors.Join(checkInputs(before, in), r.checkMemory(k, v))
		}
		if err != nil {
			return nil, fmt.Errorf("op %v: %w", current, err)
		}
	}
	return r.values[r.plan.output], nil
}

// keepGradients copies v to the gradients of the given parameters, unless the op
// wrote it there. It copies at once, since a user's op may overwrite v later.
func (r *cpuRun) keepGradients(parameters []int, v G.Value) error {
	for _, k := range parameters {
		dst := r.gradients[k]
		src, err := FloatsOf(v)
		if err == nil && len(src) != len(dst) {
			err = fmt.Errorf("%d values", len(src))
		}
		if err != nil {
			return fmt.Errorf("gradient of parameter %q, which has %d values: %w", r.plan.Parameters[k].Name(), len(dst), err)
		}
		if unsafe.SliceData(src) != unsafe.SliceData(dst) {
			copy(dst, src)
		}
	}
	return nil
}

// inputsOf returns copies of the inputs of s that it may not overwrite.
func inputsOf(s *step, in []G.Value) [][]float32 {
	before := make([][]float32, len(in))
	for i, v := range in {
		if s.over && i == s.op.Memory().Over.Input {
			continue
		}
		if data, err := FloatsOf(v); err == nil {
			before[i] = slices.Clone(data)
		}
	}
	return before
}

// checkInputs returns an error if an input differs from its copy in before.
func checkInputs(before [][]float32, in []G.Value) error {
	for i, want := range before {
		if want == nil {
			continue
		}
		got, err := FloatsOf(in[i])
		if err != nil {
			return err
		}
		if !slices.EqualFunc(got, want, sameBits) {
			return fmt.Errorf("it has written to its input %d, which its Memory does not say", i)
		}
	}
	return nil
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// checkMemory returns an error if the result of step k is not in the memory that
// the op states, and fills dead memory with NaN.
func (r *cpuRun) checkMemory(k int, v G.Value) error {
	s := &r.plan.steps[k]
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
		data := r.check[m].data[:cap(r.check[m].data)]
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
