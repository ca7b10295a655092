package plan

import (
	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/device"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// Backend trains one model on one processor. It holds the parameters, their
// gradients and the moments of Adam as flat arrays, in the order of the
// parameters. A GPU only queues what Run and Update ask for; the methods that
// wait say so. A backend is for one goroutine.
type Backend interface {
	// Run computes loss and gradients over the batch that is set.
	Run() error
	// Loss waits for the last Run, returns its loss, and makes Host.Gradients
	// current.
	Loss() (float32, error)

	// Update moves the parameters along the gradients of the last Run; step is
	// its number, from 1. After a step with a loss or gradient that is not
	// finite, no parameter moves until Settle has said so.
	Update(a Adam, step int) error
	// Depth is the number of updates after which Settle must be called.
	Depth() int
	// Settle waits and returns the losses of the updates since the last call.
	// failed is the first of them that was not finite, by its number, or 0. The
	// losses are good until the next Update.
	Settle() (losses []float32, failed int, err error)

	// Push makes the host's parameters, and its moments unless they are nil,
	// those of the processor. Pull waits and does the reverse; with the moments
	// it also brings home what ops keep from step to step.
	Push(m, v []float32) error
	Pull(m, v []float32) error

	// Forward waits for the logits over the batch that is set and appends them
	// to dst.
	Forward(dst []float32) ([]float32, error)

	// Nodes returns the nodes that Run computes, in their order.
	Nodes() G.Nodes

	// Close waits and frees the backend's memory.
	Close() error
}

// Adam is the update of kernel.Adam, of gradients clipped to a norm of at most
// Clip; 0 means no clipping.
type Adam struct {
	kernel.Adam
	Clip float64
}

// Model is what a backend trains.
type Model struct {
	Loss, Logits          *G.Node
	Parameters, Gradients G.Nodes

	// Values and Grads are the parameters and their gradients on the host, each
	// flat. The parameter nodes' values are views into Values.
	Values, Grads []float32

	// Check holds each op to its Memory, for tests: memory is filled with NaN as
	// soon as no op may read it any more. On the CPU a result must also lie where
	// the op says, and an op must leave its inputs as they were.
	Check bool
}

// step is the plan of a training step.
func (m *Model) step() (*Plan, error) {
	return New(Spec{Output: m.Loss, Parameters: m.Parameters, Gradients: m.Gradients})
}

// logits is the plan of Forward.
func (m *Model) logits() (*Plan, error) {
	return New(Spec{Output: m.Logits, Parameters: m.Parameters})
}

// NewBackend plans m's training step for d, or for the CPU where d is nil. Like
// Gorgonia's compiler it may panic on graphs that make no sense.
func NewBackend(d *device.Device, m Model) (Backend, error) {
	if d == nil {
		return newCPU(m)
	}
	return newCUDA(d, m)
}
