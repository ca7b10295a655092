//go:build cuda

package ops

import (
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/device"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Placement is the part of an expression graph that one output, and some gradients,
// depend on, placed on a device. It is for package train, which compiles models.
//
// The graph as it was built stays what it is: a Placement holds a second one, whose
// nodes stand for its nodes and are Gorgonia's CUDADoers, run by Gorgonia's
// machine on its CUDA backend:
//
//	features ─ propagate ─ affine ─ activate ─ … ─ loss        as built; runs on the CPU
//	   ┊           ┊          ┊         ┊            ┊
//	placed  ─── placed ─── placed ─── placed ─ … ─ placed      on the device
//
// So the same graph-construction code serves both, plain nodes of Gorgonia
// included: those compute on the host, and their values travel. Ops of this
// package have kernels. As on the CPU each node owns memory for its value, which
// grows with the batches, so batches of any size run.
//
// A run is queued, not waited for.
type Placement struct {
	d       *Device
	o       PlaceOptions
	upload  *device.Uploader
	machine machine
	nodes   map[*G.Node]*G.Node // as built → placed
	readers map[*G.Node]int     // nodes placed that read a node
	states  map[G.Op]any        // what ops share with their backward ops
	buffers []*device.Buffer

	histories []*placedHistory

	slots   []*placedSlot
	targets *placedTargets

	failed   error // of an op in this run
	output   *array
	outputAt device.Pointer // where a scalar output should go; 0: anywhere
	products []DenseProduct
	made     int
}

// PlaceOptions say what is placed.
type PlaceOptions struct {
	Output     *G.Node // a scalar loss, or a matrix such as logits; required
	Parameters G.Nodes // inputs of the graph that live on the device
	Gradients  G.Nodes // their gradients, to be computed too; nil: none

	// Values and Grads are where the parameters' values lie and the gradients go:
	// float32, one after the other.
	Values, Grads device.Pointer

	// Status, where not 0, is an int64 number: histories stay as they are once
	// it is not 0.
	Status device.Pointer
}

// machine is Gorgonia's.
type machine interface {
	RunAll() error
	Reset()
	Close() error
}

// placeable is an op with kernels. place returns what runs it, given its inputs.
type placeable interface {
	place(p *Placement, n *G.Node) (func(in []*array) (*array, error), error)
}

// Place compiles a placement. Close frees it. Like Gorgonia's compiler it may panic
// on graphs that make no sense.
func Place(d *Device, o PlaceOptions) (*Placement, error) {
	p := &Placement{
		d: d, o: o, nodes: map[*G.Node]*G.Node{}, readers: map[*G.Node]int{}, states: map[G.Op]any{},
	}
	err := p.build()
	if err != nil {
		return nil, closing(err, p)
	}
	return p, nil
}

// closing returns err, and p's where closing it fails too.
func closing(err error, p *Placement) error {
	if failed := p.Close(); failed != nil {
		return fmt.Errorf("%w; then %w", err, failed)
	}
	return err
}

func (p *Placement) build() error {
	var err error
	if p.upload, err = p.d.NewUploader(); err != nil {
		return err
	}
	outputs := append(G.Nodes{p.o.Output}, p.o.Gradients...)
	order := reachable(outputs)
	for _, n := range order {
		for _, child := range childrenOf(n) {
			p.readers[child]++
		}
	}
	g := G.NewGraph()
	source := G.NewScalar(g, tensor.Float32, G.WithName("gcn/ops.source"))
	if err := G.Let(source, &array{d: p.d}); err != nil {
		return err
	}
	for _, n := range order {
		run, err := p.runner(n)
		if err != nil {
			return err
		}
		op := &placedOp{name: fmt.Sprint(n.Op()), number: p.made, run: run, failed: &p.failed}
		p.made++
		var inputs G.Nodes
		for _, child := range childrenOf(n) {
			inputs = append(inputs, p.nodes[child])
		}
		if op.arity = len(inputs); op.arity == 0 {
			op.leaf, op.arity = true, 1
			inputs = G.Nodes{source}
		}
		if p.nodes[n], err = apply(op, inputs...); err != nil {
			return err
		}
	}
	p.machine = G.NewTapeMachine(g)
	return nil
}

// reachable returns the nodes that outputs depend on, inputs before their readers.
func reachable(outputs G.Nodes) G.Nodes {
	var order G.Nodes
	seen := map[*G.Node]bool{}
	var visit func(n *G.Node)
	visit = func(n *G.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, child := range childrenOf(n) {
			visit(child)
		}
		order = append(order, n)
	}
	for _, n := range outputs {
		visit(n)
	}
	return order
}

// runner returns what computes n on the device.
func (p *Placement) runner(n *G.Node) (func(in []*array) (*array, error), error) {
	run, err := p.compute(n)
	if err != nil {
		return nil, err
	}
	at := p.gradientPlaces(n)
	isOutput := n == p.o.Output
	if len(at) == 0 && !isOutput {
		return run, nil
	}
	return func(in []*array) (*array, error) {
		a, err := run(in)
		if err != nil {
			return nil, err
		}
		if isOutput {
			p.output = a
		}
		for _, to := range at {
			from, err := a.pointer()
			if err == nil {
				err = p.d.Copy(to, from, a.elements()) // none where it is there already
			}
			if err != nil {
				return nil, err
			}
		}
		return a, nil
	}, nil
}

// gradientPlaces returns where n goes as the gradient of parameters.
func (p *Placement) gradientPlaces(n *G.Node) []device.Pointer {
	var places []device.Pointer
	at := p.o.Grads
	for k, gradient := range p.o.Gradients {
		if gradient == n {
			places = append(places, at)
		}
		at = device.Floats(at, p.o.Parameters[k].Shape().TotalSize())
	}
	return places
}

// compute returns what computes n, wherever that goes.
func (p *Placement) compute(n *G.Node) (func(in []*array) (*array, error), error) {
	if k := slices.Index(p.o.Parameters, n); k >= 0 {
		at := p.o.Values
		for _, before := range p.o.Parameters[:k] {
			at = device.Floats(at, before.Shape().TotalSize())
		}
		a := &array{d: p.d, shape: n.Shape().Clone(), at: at}
		return func([]*array) (*array, error) { return a, nil }, nil
	}
	if op, ok := n.Op().(placeable); ok {
		return op.place(p, n)
	}
	a := &array{d: p.d, copied: p.buffer()}
	if len(childrenOf(n)) == 0 {
		return p.leaf(n, a), nil
	}
	return p.onHost(n.Op(), a), nil
}

// leaf returns the value of an input or a constant of the graph.
func (p *Placement) leaf(n *G.Node, a *array) func([]*array) (*array, error) {
	return func([]*array) (*array, error) {
		v := n.Value()
		if v == nil {
			return nil, fmt.Errorf("ops: no value is bound to %v", n)
		}
		if n.Op() == nil || a.host != v { // an input may have another value in each run
			a.setHost(v)
		}
		return a, nil
	}
}

// onHost runs a plain op of Gorgonia, or a user's, on the host: its inputs come
// from the device, which is waited for.
func (p *Placement) onHost(op G.Op, a *array) func([]*array) (*array, error) {
	return func(in []*array) (*array, error) {
		values := make([]G.Value, len(in))
		for k, x := range in {
			if x.empty {
				return nil, fmt.Errorf("ops: %v reads features that were not gathered", op)
			}
			var err error
			if values[k], err = x.value(); err != nil {
				return nil, err
			}
		}
		v, err := op.Do(values...)
		if err != nil {
			return nil, fmt.Errorf("ops: %v: %w", op, err)
		}
		a.setHost(v)
		return a, nil
	}
}

// buffer returns memory that lives as long as the placement.
func (p *Placement) buffer() *device.Buffer {
	b := p.d.NewBuffer()
	p.buffers = append(p.buffers, b)
	return b
}

// result is where a node's value goes: memory of its own, or its place among the
// gradients.
type result struct {
	array
	buffer *device.Buffer
	fixed  device.Pointer
	output *device.Pointer // the same, for the output: it differs from run to run
}

// result returns where n's value goes.
func (p *Placement) result(n *G.Node) *result {
	r := &result{array: array{d: p.d}, buffer: p.buffer()}
	if at := p.gradientPlaces(n); len(at) > 0 {
		r.fixed = at[0]
	}
	if n == p.o.Output {
		r.output = &p.outputAt
	}
	return r
}

// shaped returns the result with the given shape, its elements unspecified.
func (r *result) shaped(shape ...int) (*array, device.Pointer, error) {
	r.shape = append(r.shape[:0], shape...)
	if r.fixed != 0 {
		r.at = r.fixed
		return &r.array, r.at, nil
	}
	if r.output != nil && *r.output != 0 && len(shape) == 0 {
		r.at = *r.output
		return &r.array, r.at, nil
	}
	var err error
	r.at, err = r.buffer.Floats(max(r.elements(), 1))
	return &r.array, r.at, err
}

// stateOf returns what the placement keeps for op, made at the first call.
func stateOf[T any](p *Placement, op G.Op) *T {
	if s, ok := p.states[op]; ok {
		return s.(*T)
	}
	s := new(T)
	p.states[op] = s
	return s
}

// Run queues a run over the batch that the slots and targets hold now, which may
// be set anew as soon as it returns. A scalar output goes to scalar too, unless
// that is 0.
func (p *Placement) Run(scalar device.Pointer) error {
	for _, h := range p.histories {
		h.drop(p)
	}
	if err := p.send(); err != nil {
		return err
	}
	p.products, p.outputAt, p.failed = p.products[:0], scalar, nil
	err := p.machine.RunAll()
	p.machine.Reset()
	if err != nil && p.failed != nil {
		err = p.failed // without what Gorgonia says of its instruction
	}
	if err == nil && scalar != 0 {
		err = p.copyOutput(scalar)
	}
	// After an error too: part of the run may be queued, and reads what was sent.
	return firstError(err, p.upload.Done())
}

// copyOutput queues a copy of the scalar output, unless it is there already.
func (p *Placement) copyOutput(to device.Pointer) error {
	from, err := p.output.scalar("output")
	if err != nil {
		return err
	}
	return p.d.Copy(to, from, 1)
}

// ReadOutput waits for the last Run and appends its output's elements to dst.
func (p *Placement) ReadOutput(dst []float32) ([]float32, error) {
	v, err := p.output.value()
	if err != nil {
		return dst, err
	}
	data, err := floatsOf(v)
	return append(dst, data...), err
}

// Products returns the dense products of the last Run.
func (p *Placement) Products() []DenseProduct { return p.products }

// Close waits for the device and frees what the placement holds.
func (p *Placement) Close() error {
	var err error
	for _, h := range p.histories {
		err = firstError(err, h.release(p))
	}
	p.histories = nil
	if p.upload != nil {
		err = firstError(err, p.upload.Close())
		p.upload = nil
	}
	if p.machine != nil {
		err = firstError(err, p.machine.Close())
		p.machine = nil
	}
	for _, b := range p.buffers {
		err = firstError(err, b.Free())
	}
	p.buffers = nil
	return err
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// placedSlot is the part of a slot's block that lies on the device in this run.
type placedSlot struct {
	slot  *Slot
	needs blockParts
	block *graph.Block // that is there

	matrix, transposed, control device.Sparse
	src, dst, sums              device.Pointer
}

// blockParts say which parts of a block are read.
type blockParts struct{ matrix, transposed, control, src, dst, sums bool }

// slot returns what stands for s.
func (p *Placement) slot(s *Slot) *placedSlot {
	for _, q := range p.slots {
		if q.slot == s {
			return q
		}
	}
	q := &placedSlot{slot: s}
	p.slots = append(p.slots, q)
	return q
}

// send copies the present blocks and targets to the device.
func (p *Placement) send() error {
	for k, q := range p.slots {
		b, err := q.slot.current("Placement")
		if err != nil {
			return err
		}
		q.block = b
		if err := checkEntries(b); err != nil {
			return err
		}
		if !slices.ContainsFunc(p.slots[:k], func(o *placedSlot) bool { return o.block == b && o.needs == q.needs }) {
			q.send(p.upload)
		}
	}
	if p.targets != nil {
		if err := p.targets.send(p.upload); err != nil {
			return err
		}
	}
	if err := p.upload.Send(); err != nil {
		return err
	}
	for k, q := range p.slots { // layers of one subgraph share a block
		for _, o := range p.slots[:k] {
			if o.block == q.block && o.needs == q.needs {
				slot, needs := q.slot, q.needs
				*q = *o
				q.slot, q.needs = slot, needs
				break
			}
		}
	}
	return nil
}

// checkEntries reports a block whose row pointers do not fit in int32.
func checkEntries(b *graph.Block) error {
	n := b.Matrix.NNZ()
	if b.Control != nil {
		n = max(n, b.Control.Matrix.NNZ())
	}
	if n > 1<<31-1 {
		return fmt.Errorf("ops: block of %d entries; a device takes fewer than 2³¹: %w", n, ErrShape)
	}
	return nil
}

func (q *placedSlot) send(u *device.Uploader) {
	sparse := func(to *device.Sparse, a *graph.CSR) {
		to.Rows, to.Cols = a.Rows, a.Cols
		device.AddNarrow(u, &to.Ptr, a.Ptr)
		device.Add(u, &to.Idx, a.Idx)
		device.Add(u, &to.Val, a.Val)
	}
	b := q.block
	if q.needs.matrix {
		sparse(&q.matrix, &b.Matrix)
	}
	if q.needs.transposed {
		sparse(&q.transposed, &b.Transposed)
	}
	if q.needs.control && b.Control != nil {
		sparse(&q.control, &b.Control.Matrix)
	}
	if q.needs.src {
		device.Add(u, &q.src, b.Src)
	}
	if q.needs.dst {
		device.Add(u, &q.dst, b.Dst)
	}
	if q.needs.sums {
		device.Add(u, &q.sums, b.RowSums)
	}
}

// rowSums returns where the row sums of slot's block are, 0 without a slot.
func (q *placedSlot) rowSums(what string, rows int) (device.Pointer, error) {
	if q == nil {
		return 0, nil
	}
	if len(q.block.RowSums) != rows {
		return 0, fmt.Errorf("ops: %s: %d rows, its block puts out %d: %w", what, rows, len(q.block.RowSums), ErrShape)
	}
	return q.sums, nil
}

// placedOp is a node of a placement. To Gorgonia's type system every value is a
// scalar: sizes are known only in a run.
type placedOp struct {
	name   string
	number int
	arity  int
	leaf   bool // its only input is none
	run    func(in []*array) (*array, error)
	in     []*array
	failed *error // of the placement
}

var (
	_ G.Op       = (*placedOp)(nil)
	_ G.CUDADoer = (*placedOp)(nil)
)

// CUDADo queues the op. The memory that Gorgonia set aside, for values whose size
// is known beforehand, is not used.
func (op *placedOp) CUDADo(_ G.External, _ G.Device, _ G.Value, inputs ...G.Value) (G.Value, error) {
	op.in = op.in[:0]
	if !op.leaf {
		for k, v := range inputs {
			a, ok := v.(*array)
			if !ok {
				return nil, fmt.Errorf("ops: %s: input %d is a %T, not on the device", op.name, k, v)
			}
			op.in = append(op.in, a)
		}
	}
	a, err := op.run(op.in)
	if err != nil {
		*op.failed = err
		return nil, err
	}
	return a, nil
}

// Do is for machines without a device.
func (op *placedOp) Do(...G.Value) (G.Value, error) {
	return nil, fmt.Errorf("ops: %s was placed on a device", op.name)
}

func (op *placedOp) Arity() int { return op.arity }

func (op *placedOp) Type() hm.Type {
	types := make([]hm.Type, op.arity+1)
	for k := range types {
		types[k] = tensor.Float32
	}
	return hm.NewFnType(types...)
}

func (op *placedOp) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}

func (op *placedOp) ReturnsPtr() bool      { return false }
func (op *placedOp) CallsExtern() bool     { return true }
func (op *placedOp) OverwritesInput() int  { return -1 }
func (op *placedOp) String() string        { return fmt.Sprintf("placed#%d(%s)", op.number, op.name) }
func (op *placedOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "gcn/ops.placed#%d", op.number) }

func (op *placedOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}
