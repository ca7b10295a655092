package train

import (
	"errors"
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
)

// ErrNotFinite is wrapped by errors about a loss or gradient that overflowed.
var ErrNotFinite = errors.New("not finite")

var errClosed = errors.New("train: the program is closed")

// Program is a model compiled: its expression graph with gradients, planned for
// the CPU or for the model's GPU.
//
// All parameters lie in one flat slice and all gradients in another, in the
// order of the model's Parameters; the parameter nodes' values are views into the
// first. A program is for one goroutine, and a model for one program at a time:
// compiling it again, as Fit does, moves the parameters to the new one. Predict
// and Evaluate give them back.
type Program struct {
	model   *layers.Model
	params  []parameter
	values  []float32 // of all parameters
	grads   []float32
	logits  []float32
	backend plan.Backend // nil: closed
	ahead   bool         // its parameters are newer than values
}

// NewProgram differentiates m's loss and plans its ops. Close ends it. The error
// wraps ErrModelInUse while m is trained: the program would take its parameters
// away.
func NewProgram(m Model) (*Program, error) {
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	if err := lock(parts); err != nil {
		return nil, err
	}
	defer parts.Batch.Unlock()
	return compile(parts)
}

// compile is NewProgram of a model that the caller has locked.
func compile(parts *layers.Model) (p *Program, err error) {
	// Gorgonia's differentiation and compiler panic on graphs they cannot take.
	defer func() {
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("train: compiling the model: %v%s", r, crash.Place())
		}
	}()
	params, err := parametersOf(parts)
	if err != nil {
		return nil, err
	}
	p = &Program{model: parts, params: params}
	nodes, err := p.flatten()
	if err != nil {
		return nil, err
	}
	grads, err := gradients(parts.Loss, nodes)
	if err != nil {
		return nil, fmt.Errorf("train: differentiating the loss: %w", err)
	}
	p.backend, err = plan.NewBackend(parts.Device, plan.Model{
		Loss: parts.Loss, Logits: parts.Logits, Parameters: nodes, Gradients: grads, Values: p.values, Grads: p.grads,
	})
	if err != nil {
		return nil, fmt.Errorf("train: compiling the model: %w", err)
	}
	return p, nil
}

// flatten moves the parameters into one slice, and returns their nodes.
func (p *Program) flatten() (G.Nodes, error) {
	size := parameterCount(p.params)
	if err := memory.Check("train: parameters and gradients", 2*4*int64(size)); err != nil {
		return nil, err
	}
	p.values, p.grads = make([]float32, size), make([]float32, size)
	nodes := make(G.Nodes, len(p.params))
	at := 0
	for k := range p.params {
		q := &p.params[k]
		view := p.values[at : at+len(q.values) : at+len(q.values)]
		copy(view, q.values)
		q.values = view
		if err := G.Let(q.node, tensor.New(tensor.WithShape(q.Shape...), tensor.WithBacking(view))); err != nil {
			return nil, fmt.Errorf("train: parameter %q: %w", q.Name, err)
		}
		nodes[k] = q.node
		at += len(view)
	}
	return nodes, nil
}

// gradients returns the derivatives of loss with regard to nodes. A graph can be
// differentiated only once: where it was, by an earlier program or by the
// caller, the derivatives are there to use.
func gradients(loss *G.Node, nodes G.Nodes) (G.Nodes, error) {
	if loss.Deriv() == nil {
		return G.Grad(loss, nodes...)
	}
	// The derivative of a loss by itself is the constant 1.
	if one := loss.Deriv().Value(); one == nil || one.Data() != float32(1) {
		return nil, fmt.Errorf("it is part of another loss that was differentiated before")
	}
	grads := make(G.Nodes, len(nodes))
	for k, n := range nodes {
		if grads[k] = n.Deriv(); grads[k] == nil {
			return nil, fmt.Errorf("it was differentiated before, but not by %q", n.Name())
		}
	}
	return grads, nil
}

// Step computes the loss of one mini-batch and its gradients, which Gradients
// then returns; parameters stay as they are. It is a pure function of parameters,
// batch and seed, which decides what is random in the model (dropout). The error
// wraps ErrNotFinite if the loss or a gradient is not finite. On a GPU it copies
// the parameters there and waits. It allocates a few kilobytes at most, whatever
// the size of the batch.
func (p *Program) Step(batch *samplers.MiniBatch, seed uint64) (float64, error) {
	loss, err := p.compute(batch, seed)
	switch {
	case err != nil && p.backend != nil:
		return 0, fmt.Errorf("train: %w", err)
	case err != nil:
		return 0, err
	}
	return loss, nil
}

func (p *Program) compute(batch *samplers.MiniBatch, seed uint64) (float64, error) {
	if p.backend == nil {
		return 0, errClosed
	}
	p.ahead = false
	if err := p.backend.Push(nil, nil); err != nil {
		return 0, err
	}
	if err := p.model.Batch.Set(batch, true, seed); err != nil {
		return 0, err
	}
	if err := p.backend.Run(); err != nil {
		return 0, err
	}
	loss, err := p.backend.Loss()
	if err != nil {
		return 0, err
	}
	return float64(loss), p.checkFinite(loss, !kernel.Finite(p.grads))
}

// checkFinite returns an error for a loss or gradients that are not finite.
func (p *Program) checkFinite(loss float32, overflowed bool) error {
	switch {
	case !kernel.Finite([]float32{loss}):
		return fmt.Errorf("the loss is %v: %w", loss, ErrNotFinite)
	case overflowed:
		return fmt.Errorf("the loss is %v, but its gradient overflowed: %w", loss, ErrNotFinite)
	}
	return nil
}

// Advance trains on one mini-batch: it computes the loss and its gradients, and
// moves the parameters by one step of a. Parameters and moments are
// brought to the host by Pull, losses by Settle; on a GPU Advance only queues the
// work. Call Settle after at most Depth calls.
func (p *Program) Advance(batch *samplers.MiniBatch, seed uint64, a Adam, state *AdamState) error {
	if p.backend == nil {
		return errClosed
	}
	if err := a.Validate(); err != nil {
		return err
	}
	if !p.ahead {
		if err := p.push(state); err != nil {
			return err
		}
	}
	if err := p.model.Batch.Set(batch, true, seed); err != nil {
		return err
	}
	if err := p.backend.Run(); err != nil {
		return err
	}
	state.Steps++
	return p.backend.Update(a.update(), state.Steps)
}

// Depth returns how many calls of Advance may go by before a call of Settle.
func (p *Program) Depth() int {
	if p.backend == nil {
		return 1
	}
	return p.backend.Depth()
}

// Settle waits for the steps of Advance and returns their losses since its last
// call. Where a loss or gradient was not finite they end before that step, no
// parameter has moved since, state counts the steps before it, and the error
// wraps ErrNotFinite. The losses are good until the next Advance.
func (p *Program) Settle(state *AdamState) ([]float32, error) {
	if p.backend == nil {
		return nil, errClosed
	}
	losses, failed, err := p.backend.Settle()
	if err != nil || failed == 0 {
		return losses, err
	}
	first := state.Steps - len(losses) + 1
	state.Steps = failed - 1
	loss := losses[failed-first]
	return losses[:failed-first], p.checkFinite(loss, true)
}

// push makes the host's parameters and moments those of the back end.
func (p *Program) push(state *AdamState) error {
	if err := state.fit(len(p.values)); err != nil {
		return err
	}
	p.ahead = true
	return p.backend.Push(state.M, state.V)
}

// Pull waits for the steps of Advance and brings the parameters to the host and,
// unless state is nil, the moments and the state that the model keeps from step
// to step.
func (p *Program) Pull(state *AdamState) error {
	if !p.ahead {
		return nil
	}
	if state == nil {
		return p.backend.Pull(nil, nil)
	}
	return p.backend.Pull(state.M, state.V)
}

// Forward returns the logits of one mini-batch, as in evaluation: without
// dropout. They are the caller's until the next call.
func (p *Program) Forward(batch *samplers.MiniBatch) (logits []float32, err error) {
	if p.backend == nil {
		return nil, errClosed
	}
	defer func() { // planning the logits may panic, as in NewProgram
		if r := recover(); r != nil {
			err = fmt.Errorf("train: compiling the model's logits: %v%s", r, crash.Place())
		}
	}()
	if err := p.model.Batch.Set(batch, false, 0); err != nil {
		return nil, err
	}
	if p.ahead {
		err = p.Pull(nil)
	} else {
		err = p.backend.Push(nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	if p.logits, err = p.backend.Forward(p.logits[:0]); err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	return p.logits, nil
}

// Nodes returns the nodes that a step computes, in their order.
func (p *Program) Nodes() G.Nodes {
	if p.backend == nil {
		return nil
	}
	return p.backend.Nodes()
}

// Parameters returns the parameters' values, in the order of the model's
// Parameters, each row-major. Writing to the slice moves the model.
func (p *Program) Parameters() []float32 { return p.values }

// Gradients returns the gradients of the last Step, laid out as Parameters. The
// next Step overwrites them.
func (p *Program) Gradients() []float32 { return p.grads }

// Close ends the program. The model's parameters keep their values.
func (p *Program) Close() error {
	if p.backend == nil {
		return nil
	}
	b := p.backend
	p.backend = nil
	return b.Close()
}
