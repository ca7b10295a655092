package plan

import (
	"errors"
	"fmt"
	"hash"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// On a device, an executor runs through Gorgonia's CUDA backend. A second graph holds a CUDADoer
// for each step. Each has an edge to the step before, so that Gorgonia's machine keeps the
// plan's order.
//
//	plan     propagate ─ affine ─ activate ─ … ─ loss ─ …   the ops as built
//	             ┊          ┊         ┊            ┊
//	machine   placed ──── placed ── placed ─ … ─ placed ─ … their kernels

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
		if op := e.steps[k].op; op != nil {
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
	for _, add := range e.sends {
		if err := add(e.Upload); err != nil {
			return err
		}
	}
	if err := e.Upload.Send(); err != nil {
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

// placedOp runs one step of the plan in the second graph. Its only input is the step
// before, for the order. Gorgonia's type system sees scalars only, since sizes are
// known only in a run.
type placedOp struct {
	number   int
	executor *Executor
}

var _ G.CUDADoer = (*placedOp)(nil)

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
func (op *placedOp) Hashcode() uint32      { return uint32(op.number) }
