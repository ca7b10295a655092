package plan

import (
	"fmt"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Backend trains one model on one processor. It holds the parameters, their
// gradients and Adam's moments as flat float32 arrays, in the order of the
// parameters. On the CPU these are the arrays of Model. On a GPU, Run and Update only
// queue work; a method that waits says so. A backend is for one goroutine.
type Backend interface {
	// Run computes the loss and the gradients over the current batch. On the CPU
	// it returns when they are computed.
	Run() error
	// Loss waits for the last Run, returns its loss, and brings Model.Grads up to
	// date. Call it before Update, which may clip the gradients in place.
	Loss() (float32, error)

	// Update applies one step of Adam to the parameters, with the gradients of
	// the last Run. Steps count from 1. If the loss or a gradient is not finite, this
	// and all later updates change nothing until Settle.
	Update(a kernel.Adam, step int) error
	// Depth is the largest number of updates between two calls of Settle.
	Depth() int
	// Settle waits and returns the losses of the updates since the last call.
	// failed is the number of the first step that was not finite, or 0. The
	// losses are valid until the next Update.
	Settle() (losses []float32, failed int, err error)

	// Push copies Model.Values to the processor, and with moments Model.M and Model.V.
	Push(moments bool) error
	// Pull waits and copies the parameters to Model.Values. With moments it also copies
	// these, and the ops' own state, such as histories, to the host.
	Pull(moments bool) error

	// Products returns the sizes of the dense products of the last Run. The slice is valid until
	// the next Run.
	Products() []Product

	// Close waits and frees the backend's memory.
	Close() error
}

// Update updates values on the host by step number step of a, with grads, which it may clip in
// place. The last of values are averages: see Model.Averages.
func Update(a kernel.Adam, values, grads, m, v []float32, averages, step int) {
	n := len(values) - averages
	kernel.AdamStep(values[:n], grads[:n], m[:n], v[:n], step, a)
	average(values[n:], grads[n:])
}

// average moves averages by a part of their distance to values.
func average(averages, values []float32) {
	const gain = 0.1 // PyTorch's momentum of BatchNorm
	for k, v := range values {
		averages[k] += gain * (v - averages[k])
	}
}

// Model is a model for a backend to train. The caller owns the arrays.
type Model struct {
	Loss                  *G.Node // a scalar
	Parameters, Gradients G.Nodes

	// Values and Grads are the parameters and their gradients on the host, M and V Adam's
	// moments, each flat. The parameter nodes' values are views into Values.
	Values, Grads, M, V []float32

	// Averages is the number of values at the end of Values that are averages: an update
	// moves them towards their gradients. Adam does not count them, also not in Clip.
	Averages int

	// Check holds each op to its Memory, for tests: memory is filled with NaN as
	// soon as no op may read it any more.
	Check bool
}

// NewBackend plans m's training step for d; a nil d is the CPU. A GPU's backend allocates
// its parameters, gradients and moments here, all 0 until Push. Like Gorgonia's compiler,
// NewBackend may panic on an ill-formed graph.
func NewBackend(d *device.Device, m Model) (Backend, error) {
	p, err := New(Spec{Output: m.Loss, Parameters: m.Parameters, Gradients: m.Gradients})
	if err != nil {
		return nil, err
	}
	if d != nil {
		return newCUDA(d, m, p)
	}
	step, err := NewExecutor(p, ExecutorOptions{Gradients: Floats{Data: m.Grads}, Check: m.Check})
	return &cpu{Executor: step, model: m}, err
}

// Products returns the sizes of the dense products of the last run.
func (e *Executor) Products() []Product { return e.products }

// loss waits for the last run and returns its output, a scalar.
func (e *Executor) loss() (float32, error) {
	loss, err := e.Result(0).Append(nil)
	if err == nil && len(loss) != 1 {
		err = fmt.Errorf("the loss has %d values, want 1", len(loss))
	}
	if err != nil {
		return 0, err
	}
	return loss[0], nil
}
