package plan

import (
	"errors"
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/device"
)

// Executor runs a plan, op by op: on the CPU in the caller's goroutine, or on a device through
// Gorgonia's CUDA backend (see machine.go), where a run only queues work. A plain op runs on the
// host: the host then waits for the op's inputs and sends its result.
type Executor struct {
	*Run
	values    []*Array
	calls     []Call    // of each step
	memories  []Scratch // that results share
	gradients []Floats  // of each parameter, if the plan has any
	options   ExecutorOptions

	given   []bool // of the plan's inputs: see Give
	begun   bool   // see Begin
	machine G.VM   // Gorgonia's TapeMachine, of a device
	failed  error  // the error of an op in this run
}

// ExecutorOptions are the options of NewExecutor.
type ExecutorOptions struct {
	Device *device.Device // nil: the CPU

	// Parameters and Gradients are the places of the parameters and of their gradients, each
	// flat as in Model. On the CPU the parameters are read from their nodes.
	Parameters, Gradients Floats

	Status device.Pointer // see Run.Status
	Check  bool           // as in Model
}

// NewExecutor returns an executor of p. Close frees its memory on a device.
func NewExecutor(p *Plan, o ExecutorOptions) (*Executor, error) {
	e := &Executor{
		Run:      NewRun(p),
		options:  o,
		values:   make([]*Array, p.values),
		calls:    make([]Call, len(p.steps)),
		memories: make([]Scratch, p.memories),
		given:    make([]bool, len(p.inputs)),
	}
	e.Device, e.Status = o.Device, o.Status
	for _, in := range p.inputs {
		e.values[in.at] = &Array{r: e.Run}
	}
	at := 0
	for _, n := range p.Parameters {
		end := at + n.Shape().TotalSize()
		if o.Device != nil {
			e.Give(n, o.Parameters.Slice(at, end), n.Shape()...)
		}
		e.gradients = append(e.gradients, o.Gradients.Slice(at, end))
		at = end
	}
	for k := range p.steps {
		s, c := &p.steps[k], &e.calls[k]
		c.Run = e.Run
		c.Over = s.over
		c.result.r = e.Run
		e.values[s.to] = &c.result
		for _, at := range s.from {
			c.in = append(c.in, e.values[at])
		}
		if s.inPlace >= 0 {
			c.inPlace = e.values[s.inPlace]
		}
		if len(s.gradients) > 0 {
			c.fixed = e.gradients[s.gradients[0]]
		}
		if c.memory = new(Scratch); s.memory >= 0 {
			c.memory = &e.memories[s.memory]
		}
	}
	if o.Device == nil {
		return e, nil
	}
	if err := e.build(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Give makes numbers on the processor the value of n, if that is an input of the plan, for the next
// runs.
func (e *Executor) Give(n *G.Node, at Floats, sizes ...int) {
	for k, in := range e.inputs {
		if in.node == n {
			e.values[in.at].set(at, sizes...)
			e.given[k] = true
		}
	}
}

// Result returns the output, if k is 0, or value k−1 of the plan's Also, after a run. It is valid
// until the next one.
func (e *Executor) Result(k int) *Array { return e.values[e.outputs[k]] }

// Put makes Result(k) of the next runs lie in to, until Forget or another Put: on the CPU if it has
// room; on a device the caller ensures it.
func (e *Executor) Put(k int, to Floats) {
	at := e.outputs[k]
	for i := len(e.steps) - 1; i >= 0; i-- {
		switch s := &e.steps[i]; {
		case s.to != at:
		case s.inPlace >= 0:
			at = s.inPlace
		case !s.constant:
			e.calls[i].fixed = to
		}
	}
}

// Begin makes the next run in inference read the parameters, and compute the plan's constants. Later
// runs use their values.
func (e *Executor) Begin() { e.begun = false }

// Forget drops the values of the last run on the CPU, and what Give and Put were given.
func (e *Executor) Forget() {
	for _, a := range e.values {
		a.forget()
	}
	for k := range e.outputs {
		e.Put(k, Floats{})
	}
	clear(e.given)
}

// Compute runs all ops over the current batch. On a device it queues them: the slots and targets
// may be set again when it returns. A panic of an op becomes an error.
func (e *Executor) Compute() (err error) {
	for _, r := range e.resident {
		r.Begin()
	}
	e.products = e.products[:0]
	if err := e.bind(); err != nil {
		return err
	}
	if e.Device != nil {
		err = e.queue()
	} else {
		for k := 0; k < len(e.calls) && err == nil; k++ {
			err = e.step(k)
		}
	}
	e.begun = e.Inference && err == nil
	return err
}

// bind takes the current values of the graph's inputs.
func (e *Executor) bind() error {
	for k, in := range e.inputs {
		a := e.values[in.at]
		if !e.given[k] && !e.begun {
			v := in.node.Value()
			if v == nil {
				return fmt.Errorf("input %q of the model has no value", in.node.Name())
			}
			a.setHost(v)
		}
		if err := e.keepGradients(in.gradients, a); err != nil {
			return err
		}
	}
	return nil
}

// step computes step k.
func (e *Executor) step(k int) (err error) {
	s, c := &e.steps[k], &e.calls[k]
	if s.constant && e.begun {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("op %v panicked: %v%s", s.node.Op(), p, crash.Place())
		} else if err != nil {
			err = fmt.Errorf("op %v: %w", s.node.Op(), err)
		}
	}()
	if c.err = nil; s.op != nil {
		err = s.op.Compute(c)
	} else {
		err = c.plain(s.node.Op())
	}
	if err == nil {
		err = e.keepGradients(s.gradients, &c.result)
	}
	if err == nil && e.options.Check {
		err = e.fillDead(s.dead)
	}
	return err
}

// keepGradients copies a to the gradients of the given parameters, unless it lies there. It
// copies at once, since a user's op may overwrite a later.
func (e *Executor) keepGradients(parameters []int, a *Array) error {
	for _, k := range parameters {
		n, to := e.Parameters[k], e.gradients[k]
		if want := n.Shape().TotalSize(); a.Elements() != want {
			return fmt.Errorf("gradient of parameter %q has %d values, want %d", n.Name(), a.Elements(), want)
		}
		from, err := a.floats()
		switch {
		case err != nil:
			return fmt.Errorf("gradient of parameter %q: %w", n.Name(), err)
		case e.Device != nil:
			err = e.Device.Copy(to.At, from.At, a.Elements())
		default:
			copy(to.Data, from.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillDead fills memories with NaN.
func (e *Executor) fillDead(dead []int) error {
	nan := float32(math.NaN())
	for _, k := range dead {
		m := &e.memories[k]
		at, err := m.floats(e.Run, m.n)
		for i := range at.Data {
			at.Data[i] = nan
		}
		if err == nil && e.Device != nil && m.n > 0 {
			err = e.Device.Fill(at.At, e.options.Parameters.At, nan, m.n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the device and frees the executor's memory there.
func (e *Executor) Close() error {
	var errs []error
	for _, rows := range e.resident {
		errs = append(errs, rows.Release())
	}
	if e.Upload != nil {
		errs = append(errs, e.Upload.Close())
	}
	for _, b := range e.buffers {
		errs = append(errs, b.Free())
	}
	if e.machine != nil {
		errs = append(errs, e.machine.Close())
	}
	e.resident, e.Upload, e.buffers, e.machine = nil, nil, nil, nil
	return errors.Join(errs...)
}
