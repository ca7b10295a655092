package plan

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Kernel queues an op's work on a GPU. It reads in and writes out, and returns out's
// array, or another array that holds the value.
type Kernel func(in []*Array, out *Result) (*Array, error)

// Placement runs a plan on a GPU, through Gorgonia's CUDA backend. A second graph
// holds a CUDADoer for each step. Each has an edge to the step before, so that
// Gorgonia's machine keeps the plan's order.
//
//	plan     propagate ─ affine ─ activate ─ … ─ loss ─ …   the ops as built
//	             ┊          ┊         ┊            ┊
//	machine   placed ──── placed ── placed ─ … ─ placed ─ … their kernels
//
// A run only queues work. A plain op runs on the host: the host then waits for the
// op's inputs and sends its result.
type Placement struct {
	*Run
	d       *device.Device
	values  []*Array
	results []*Result // of each step
	check   bool      // dead memory is filled with NaN
	upload  *device.Uploader
	machine machine

	inputs   []batchInput   // parts of the batch to send in each run
	resident []residentRows // state of ops that stays on the device
	buffers  []*device.Buffer
	memories []*device.Buffer // that results share, among buffers
	held     []int            // elements of the last value in each

	given []bool // of the plan's inputs: see Give
	bound bool   // the other inputs have their values

	params, grads device.Pointer
	status        device.Pointer
	scalar        device.Pointer // place of a scalar output; 0: any
	failed        error          // the error of an op in this run
}

// machine is Gorgonia's TapeMachine, whose type is not exported.
type machine interface {
	RunAll() error
	Reset()
	Close() error
}

// batchInput is a part of the batch that ops read on the device.
type batchInput interface {
	// Send adds arrays to the upload. Sent is called when the upload is queued:
	// the arrays have their addresses then.
	Send(u *device.Uploader) error
	Sent()
}

// residentRows is state of an op that stays on the device from run to run.
type residentRows interface {
	// Begin is called before each run of p.
	Begin(p *Placement)
	// Pull waits and brings the host's copy up to date.
	Pull() error
	// Release ends p's use of the state.
	Release(p *Placement) error
}

// place compiles p for d. Parameters lie at params, gradients go to grads. status is
// the address of an int64, or 0: when that number is not 0, ops leave their state
// unchanged. With check, dead memory is filled with NaN.
func place(p *Plan, d *device.Device, check bool, params, grads, status device.Pointer) (*Placement, error) {
	q := &Placement{
		Run: NewRun(p), d: d, check: check, values: make([]*Array, p.values), given: make([]bool, len(p.inputs)),
		params: params, grads: grads, status: status,
	}
	if err := q.build(); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

// Place compiles p, a part of a graph, for d. It has no gradients.
func Place(p *Plan, d *device.Device) (*Placement, error) { return place(p, d, false, 0, 0, 0) }

// Begin makes the next run read the parameters anew. Later runs do not.
func (p *Placement) Begin() { p.bound = false }

// Give sets the value of n, if it is one of the plan's Given, for the next runs: v, or, if v is
// nil, a rows×cols matrix at an address on the device.
func (p *Placement) Give(n *G.Node, v G.Value, at device.Pointer, rows, cols int) {
	for k, in := range p.Plan.inputs {
		switch a := p.values[in.at]; {
		case in.node != n:
			continue
		case v != nil:
			a.setHost(v)
		default:
			a.host, a.at, a.sizes = nil, at, append(a.sizes[:0], rows, cols)
		}
		p.given[k] = true
	}
}

// Into makes the next run write a result to an address on the device: see CPURun.Into.
func (p *Placement) Into(k int, at device.Pointer) {
	if step := p.Plan.results[k]; step >= 0 {
		p.results[step].fixed = at
	}
}

// Compute queues a run.
func (p *Placement) Compute() error { return p.run(0) }

// Also returns the output, if k is 0, or value k−1 of the plan's Also, after a run.
func (p *Placement) Also(k int) (rows, cols int, at device.Pointer, err error) {
	from := p.Plan.output
	if k > 0 {
		from = p.Plan.also[k-1]
	}
	return p.values[from].Matrix("Placement")
}

// Device returns the GPU.
func (p *Placement) Device() *device.Device { return p.d }

// Status returns the address of an int64, or 0. When that number is not 0, an earlier
// step was not finite, and ops must leave their state unchanged.
func (p *Placement) Status() device.Pointer { return p.status }

// Uploader returns the uploader of the batches.
func (p *Placement) Uploader() *device.Uploader { return p.upload }

// Buffer returns an empty buffer on the device, which Close frees.
func (p *Placement) Buffer() *device.Buffer {
	b := p.d.NewBuffer()
	p.buffers = append(p.buffers, b)
	return b
}

// AddInput makes each run of p send in.
func (p *Placement) AddInput(in batchInput) { p.inputs = append(p.inputs, in) }

// AddResident makes p tell r of each run, of Pull and of Close.
func (p *Placement) AddResident(r residentRows) { p.resident = append(p.resident, r) }

func (p *Placement) build() error {
	var err error
	if p.upload, err = p.d.NewUploader(); err != nil {
		return err
	}
	p.placeInputs()
	g := G.NewGraph()
	before := G.NewScalar(g, tensor.Float32, G.WithName("start"))
	if err := G.Let(before, &Array{d: p.d}); err != nil {
		return err
	}
	p.memories, p.held = make([]*device.Buffer, p.Plan.memories), make([]int, p.Plan.memories)
	for k := range p.memories {
		p.memories[k] = p.Buffer()
	}
	for k := range p.Plan.steps {
		s := &p.Plan.steps[k]
		r := p.result(s)
		p.results = append(p.results, r)
		run, err := p.kernel(s, r)
		if err != nil {
			return err
		}
		op := &placedOp{name: fmt.Sprint(s.node.Op()), number: k, placement: p, step: s, run: run, in: make([]*Array, len(s.from))}
		if before, err = G.ApplyOp(op, before); err != nil {
			return err
		}
	}
	p.machine = G.NewTapeMachine(g)
	return nil
}

// placeInputs makes the values of nodes without an op.
func (p *Placement) placeInputs() {
	for _, in := range p.Plan.inputs {
		a := &Array{d: p.d}
		if in.parameter >= 0 {
			a.sizes, a.at = in.node.Shape().Clone(), p.parameterPlace(p.params, in.parameter)
		} else {
			a.copied = p.Buffer()
		}
		p.values[in.at] = a
	}
}

func (p *Placement) result(s *step) *Result {
	r := &Result{Array: Array{d: p.d}, Over: s.over}
	switch {
	case len(s.gradients) > 0:
		r.fixed = p.parameterPlace(p.grads, s.gradients[0])
	case s.memory >= 0:
		r.buffer = p.memories[s.memory]
	case s.inPlace < 0:
		r.buffer = p.Buffer()
	}
	if s.to == p.Plan.output {
		r.scalar = &p.scalar
	}
	return r
}

// parameterPlace returns the place of a parameter, or of its gradient, in a flat array.
func (p *Placement) parameterPlace(at device.Pointer, parameter int) device.Pointer {
	for _, n := range p.Plan.Parameters[:parameter] {
		at = device.Floats(at, n.Shape().TotalSize())
	}
	return at
}

// kernel returns the kernel of s. A plain op runs on the host.
func (p *Placement) kernel(s *step, r *Result) (Kernel, error) {
	if s.op != nil {
		return s.op.Place(p)
	}
	r.copied = p.Buffer()
	op := s.node.Op()
	return func(in []*Array, out *Result) (*Array, error) {
		values := make([]G.Value, len(in))
		for k, x := range in {
			if x.absent {
				return nil, fmt.Errorf("%v reads features that were not gathered", op)
			}
			var err error
			if values[k], err = x.value(); err != nil {
				return nil, err
			}
		}
		v, err := op.Do(values...)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", op, err)
		}
		if len(in) > 0 || v != out.host { // a constant is sent once
			out.setHost(v)
		}
		return &out.Array, nil
	}, nil
}

// run queues a run over the batch in the slots and targets. They may be set again
// when it returns. A scalar output goes to the address scalar, unless that is 0.
func (p *Placement) run(scalar device.Pointer) error {
	for _, r := range p.resident {
		r.Begin(p)
	}
	if err := p.bind(); err != nil {
		return err
	}
	if err := p.send(); err != nil {
		return err
	}
	p.scalar, p.failed = scalar, nil
	err := p.machine.RunAll()
	p.machine.Reset()
	if err != nil && p.failed != nil {
		err = p.failed // shorter: Gorgonia adds text of its own
	}
	if err == nil && scalar != 0 {
		err = p.copyOutput(scalar)
	}
	// After an error too: the part of the run that is queued reads the batch.
	return errors.Join(err, p.upload.Done())
}

// bind takes the current values of the graph's inputs.
func (p *Placement) bind() error {
	for k, in := range p.Plan.inputs {
		a := p.values[in.at]
		if in.parameter < 0 && !p.given[k] && !p.bound {
			v := in.node.Value()
			if v == nil {
				return fmt.Errorf("input %q of the model has no value", in.node.Name())
			}
			a.setHost(v)
		}
		if err := p.keepGradients(in.gradients, a); err != nil {
			return err
		}
	}
	p.bound = p.Plan.Inference
	return nil
}

func (p *Placement) send() error {
	for _, in := range p.inputs {
		if err := in.Send(p.upload); err != nil {
			return err
		}
	}
	if err := p.upload.Send(); err != nil {
		return err
	}
	for _, in := range p.inputs {
		in.Sent()
	}
	return nil
}

// keepGradients queues copies of a to the gradients of the given parameters, unless
// a lies there.
func (p *Placement) keepGradients(parameters []int, a *Array) error {
	for _, k := range parameters {
		if want := p.Plan.Parameters[k].Shape().TotalSize(); a.Elements() != want {
			return fmt.Errorf("gradient of parameter %q has %d values, want %d", p.Plan.Parameters[k].Name(), a.Elements(), want)
		}
		from, err := a.pointer()
		if err == nil {
			err = p.d.Copy(p.parameterPlace(p.grads, k), from, a.Elements())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fillDead fills the memory that is dead after step s with NaN.
func (p *Placement) fillDead(s *step, result *Array) error {
	if s.memory >= 0 {
		p.held[s.memory] = result.Elements()
	}
	for _, m := range s.dead {
		if p.held[m] == 0 {
			continue
		}
		at, err := p.memories[m].Floats(p.held[m])
		if err == nil {
			err = p.d.Fill(at, p.params, float32(math.NaN()), p.held[m])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyOutput queues a copy of the scalar output, unless it is there already.
func (p *Placement) copyOutput(to device.Pointer) error {
	from, err := p.values[p.Plan.output].Scalar("output")
	if err != nil {
		return err
	}
	return p.d.Copy(to, from, 1)
}

// readOutput waits for the last run and appends its output's elements to dst.
func (p *Placement) readOutput(dst []float32) ([]float32, error) {
	v, err := p.values[p.Plan.output].value()
	if err != nil {
		return dst, err
	}
	data, err := FloatsOf(v)
	return append(dst, data...), err
}

// pull waits and copies the ops' state to the host.
func (p *Placement) pull() error {
	for _, r := range p.resident {
		if err := r.Pull(); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the device and frees the placement's memory.
func (p *Placement) Close() error {
	var errs []error
	for _, r := range p.resident {
		errs = append(errs, r.Release(p))
	}
	p.resident = nil
	if p.upload != nil {
		errs = append(errs, p.upload.Close())
		p.upload = nil
	}
	if p.machine != nil {
		errs = append(errs, p.machine.Close())
		p.machine = nil
	}
	for _, b := range p.buffers {
		errs = append(errs, b.Free())
	}
	p.buffers = nil
	return errors.Join(errs...)
}

// placedOp runs one step of the plan in the second graph. Its only input is the step
// before, for the order. Gorgonia's type system sees scalars only, since sizes are
// known only in a run.
type placedOp struct {
	name      string
	number    int
	placement *Placement
	step      *step
	run       Kernel
	in        []*Array
}

var (
	_ G.Op       = (*placedOp)(nil)
	_ G.CUDADoer = (*placedOp)(nil)
)

// CUDADo queues the op. It ignores the memory that Gorgonia allocated, since that has
// a fixed size.
func (op *placedOp) CUDADo(G.External, G.Device, G.Value, ...G.Value) (G.Value, error) {
	p := op.placement
	for k, at := range op.step.from {
		op.in[k] = p.values[at]
	}
	out := p.results[op.number]
	if over := op.step.inPlace; over >= 0 {
		if out.fixed, p.failed = p.values[over].pointer(); p.failed != nil {
			return nil, p.failed
		}
	}
	a, err := op.run(op.in, out)
	if err == nil {
		p.values[op.step.to] = a
		err = p.keepGradients(op.step.gradients, a)
	}
	if err == nil && p.check {
		err = p.fillDead(op.step, a)
	}
	if err != nil {
		p.failed = fmt.Errorf("op %s: %w", op.name, err)
		return nil, p.failed
	}
	return a, nil
}

// Do is called by machines without a device, and fails.
func (op *placedOp) Do(...G.Value) (G.Value, error) {
	return nil, fmt.Errorf("%s was placed on a device", op.name)
}

func (op *placedOp) Arity() int    { return 1 }
func (op *placedOp) Type() hm.Type { return hm.NewFnType(tensor.Float32, tensor.Float32) }
func (op *placedOp) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}
func (op *placedOp) ReturnsPtr() bool      { return false }
func (op *placedOp) CallsExtern() bool     { return true }
func (op *placedOp) OverwritesInput() int  { return -1 }
func (op *placedOp) String() string        { return fmt.Sprintf("placed#%d(%s)", op.number, op.name) }
func (op *placedOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "gcn/plan.placed#%d", op.number) }

func (op *placedOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}
