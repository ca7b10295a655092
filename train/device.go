package train

import (
	"errors"
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// engine computes the steps of a program on a device, where parameters, gradients
// and Adam's moments live. Only what says so waits for the device.
type engine interface {
	// set makes values those of the parameters; setMoments likewise.
	set(values []float32) error
	setMoments(m, v []float32) error
	// get waits and copies the parameters; getMoments likewise.
	get(values []float32) error
	getMoments(m, v []float32) error
	// getStates waits and brings what the model keeps from step to step to where
	// Batch.State finds it.
	getStates() error

	// run queues loss and gradients of the batch that is set; keep makes the
	// loss one of those that settle returns.
	run(keep bool) error
	// read waits for the last run and returns its loss and gradients.
	read(grads []float32) (loss float32, err error)
	// update queues a step of Adam along the gradients of the last run, whose
	// loss was kept; step is its number, from 1. It does nothing after a step
	// whose loss or gradient was not finite.
	update(a Adam, step int) error
	// settle waits and returns the losses kept since it was last called, at
	// most lossesKept; failed is the number of the first update whose loss or
	// gradient was not finite, or 0.
	settle() (losses []float32, failed int, err error)

	// forward waits for the logits of the batch that is set.
	forward(dst []float32) ([]float32, error)

	// products returns the dense products of the last run.
	products() []ops.DenseProduct
	// repeat queues products on matrices of the engine's own.
	repeat(products []ops.DenseProduct) error
	// sync waits.
	sync() error
	close() error
}

// lossesKept is how many updates may go by between two settlements.
const lossesKept = 64

// advance trains on one batch: Step, and a step of Adam. On a device it is only
// queued and the loss is not known (NaN-free and 0 here): settle tells. Host
// parameters and moments are then behind until pull.
func (p *Program) advance(batch *samplers.Batch, seed uint64, a Adam, state *AdamState) (loss float64, known bool, err error) {
	if p.engine == nil {
		if loss, err = p.compute(batch, seed); err == nil {
			err = a.Step(p.Parameters(), p.Gradients(), state)
		}
		return loss, true, err
	}
	if err := a.Validate(); err != nil {
		return 0, false, err
	}
	if !p.ahead {
		if err := p.push(state); err != nil {
			return 0, false, err
		}
	}
	if err := p.model.Batch.Set(batch, true, seed); err != nil {
		return 0, false, err
	}
	if err := p.engine.run(true); err != nil {
		return 0, false, err
	}
	state.Steps++
	return 0, false, p.engine.update(a.withDefaults(), state.Steps)
}

// push makes the host's parameters and moments those of the device.
func (p *Program) push(state *AdamState) error {
	if state.M == nil {
		state.M, state.V = make([]float32, len(p.values)), make([]float32, len(p.values))
	}
	if len(state.M) != len(p.values) || len(state.V) != len(p.values) {
		return fmt.Errorf("train: Adam step of %d parameters with moments of %d and %d", len(p.values), len(state.M), len(state.V))
	}
	p.ahead = true
	return errors.Join(p.engine.set(p.values), p.engine.setMoments(state.M, state.V))
}

// pull waits for the device, where there is one, and copies its parameters and,
// unless state is nil, moments and the model's states to the host.
func (p *Program) pull(state *AdamState) error {
	if p.engine == nil || !p.ahead {
		return nil
	}
	if err := p.engine.get(p.values); err != nil || state == nil {
		return err
	}
	if err := p.engine.getMoments(state.M, state.V); err != nil {
		return err
	}
	return p.engine.getStates()
}

// settle waits for the device, where there is one, and returns the losses of the
// advances since it was last called. Where a loss or gradient was not finite they
// end before that step, nothing has moved since, state counts the steps before
// it, and the error wraps ErrNotFinite.
func (p *Program) settle(state *AdamState) ([]float32, error) {
	if p.engine == nil {
		return nil, nil
	}
	losses, failed, err := p.engine.settle()
	if err != nil || failed == 0 {
		return losses, err
	}
	first := state.Steps - len(losses) + 1
	state.Steps = failed - 1
	loss := losses[failed-first]
	losses = losses[:failed-first]
	if !kernel.Finite([]float32{loss}) {
		return losses, fmt.Errorf("the loss is %v: %w", loss, ErrNotFinite)
	}
	return losses, fmt.Errorf("the loss is %v, but its gradient overflowed: %w", loss, ErrNotFinite)
}

// stepOnDevice is Step for a program on a device: it copies the parameters there,
// and loss and gradients back.
func (p *Program) stepOnDevice() error {
	p.ahead = false
	if err := p.engine.set(p.values); err != nil {
		return err
	}
	if err := p.engine.run(false); err != nil {
		return err
	}
	var err error
	p.loss, err = p.engine.read(p.grads)
	return err
}

// forwardOnDevice is Forward for a program on a device.
func (p *Program) forwardOnDevice() (err error) {
	if err := p.engine.set(p.values); err != nil {
		return err
	}
	p.logits, err = p.engine.forward(p.logits[:0])
	return err
}

// deviceCounts are what a device was asked to do so far.
type deviceCounts struct {
	launches, products, copies, bytesIn, syncs int64
	peak                                       int64 // bytes held at most
}

// count sets the numbers of a pass of so many batches.
func (r *StepReport) count(before, after deviceCounts, batches int) {
	each := func(a, b int64) float64 { return float64(b-a) / float64(batches) }
	r.Launches, r.Products = each(before.launches, after.launches), each(before.products, after.products)
	r.Copies, r.BytesIn, r.Syncs = each(before.copies, after.copies), each(before.bytesIn, after.bytesIn), each(before.syncs, after.syncs)
	r.DeviceBytes = after.peak
}
