package plan

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// On a device, an executor runs through Gorgonia's CUDA backend. A second graph holds a CUDADoer
// for each step. Each has an edge to the step before, so that Gorgonia's machine keeps the
// plan's order.
//
//	plan     propagate ─ affine ─ activate ─ … ─ loss ─ …   the ops as built
//	             ┊          ┊         ┊            ┊
//	machine   placed ──── placed ── placed ─ … ─ placed ─ … their kernels

// machine is Gorgonia's TapeMachine, whose type is not exported.
type machine interface {
	RunAll() error
	Reset()
	Close() error
}

// build makes the machine.
func (e *Executor) build() error {
	var err error
	if e.Upload, err = e.Device.NewUploader(); err != nil {
		return err
	}
	g := G.NewGraph()
	before := G.NewScalar(g, tensor.Float32, G.WithName("start"))
	if err := G.Let(before, &Array{r: e.Run}); err != nil {
		return err
	}
	for k := range e.steps {
		if op, ok := e.steps[k].op.(placer); ok {
			if err := op.Place(e.Run); err != nil {
				return err
			}
		}
		if before, err = G.ApplyOp(&placedOp{number: k, executor: e}, before); err != nil {
			return err
		}
	}
	e.machine = G.NewTapeMachine(g)
	return nil
}

// queue queues a run.
func (e *Executor) queue() error {
	if err := e.send(); err != nil {
		return err
	}
	e.failed = nil
	err := e.machine.RunAll()
	e.machine.Reset()
	if err != nil && e.failed != nil {
		err = e.failed // shorter: Gorgonia adds text of its own
	}
	// After an error too: the part of the run that is queued reads the batch.
	return errors.Join(err, e.Upload.Done())
}

// copyScalar queues a copy of the scalar output to a place, unless it is there already.
func (e *Executor) copyScalar(to device.Pointer) error {
	a := e.Result(0)
	if a.Elements() != 1 {
		return fmt.Errorf("the output has shape %v, want a scalar: %w", a.sizes, ErrShape)
	}
	from, err := a.floats()
	if err != nil {
		return err
	}
	return e.Device.Copy(to, from.At, 1)
}

// placedOp runs one step of the plan in the second graph. Its only input is the step
// before, for the order. Gorgonia's type system sees scalars only, since sizes are
// known only in a run.
type placedOp struct {
	number   int
	executor *Executor
}

var (
	_ G.Op       = (*placedOp)(nil)
	_ G.CUDADoer = (*placedOp)(nil)
)

// CUDADo queues the op. It ignores the memory that Gorgonia allocated, since that has
// a fixed size.
func (op *placedOp) CUDADo(G.External, G.Device, G.Value, ...G.Value) (G.Value, error) {
	e := op.executor
	if e.failed = e.step(op.number); e.failed != nil {
		return nil, e.failed
	}
	return &e.calls[op.number].result, nil
}

// Do is called by machines without a device, and fails.
func (op *placedOp) Do(...G.Value) (G.Value, error) {
	return nil, fmt.Errorf("%v was placed on a device", op)
}

func (op *placedOp) Arity() int    { return 1 }
func (op *placedOp) Type() hm.Type { return hm.NewFnType(tensor.Float32, tensor.Float32) }
func (op *placedOp) InferShape(...G.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}
func (op *placedOp) ReturnsPtr() bool     { return false }
func (op *placedOp) CallsExtern() bool    { return true }
func (op *placedOp) OverwritesInput() int { return -1 }
func (op *placedOp) String() string {
	return fmt.Sprintf("placed#%d(%v)", op.number, op.executor.steps[op.number].node.Op())
}
func (op *placedOp) WriteHash(h hash.Hash) { fmt.Fprintf(h, "gcn/plan.placed#%d", op.number) }

func (op *placedOp) Hashcode() uint32 {
	h := fnv.New32a()
	op.WriteHash(h)
	return h.Sum32()
}
