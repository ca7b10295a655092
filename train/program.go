package train

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/gcn-layerwise/gcn/internal/crash"
	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/plan"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/score"
)

// ErrNotFinite is wrapped by errors about a loss, a gradient or scores that overflowed.
var ErrNotFinite = score.ErrNotFinite

var (
	errClosed   = errors.New("train: the program is closed")
	errReplaced = errors.New("train: another program of the model has taken its parameters")
)

// Program is a compiled model: its expression graph with gradients, planned for the CPU
// or for the model's GPU.
//
// All parameters are in one flat slice and all gradients in another, in the order of
// the model's Parameters. The values of the parameter nodes are views into the first
// slice. A program belongs to one goroutine. A model has one program at a time:
// compiling it again, as Fit does, moves the parameters to the new program; Predict and
// Evaluate move them back.
type Program struct {
	model    *layers.Model
	params   []parameter
	values   []float32 // of all parameters
	grads    []float32
	backend  plan.Backend // nil after Close
	averages int          // values at the end that are averages
	adam     AdamState    // of Advance
	ahead    bool         // the backend has newer parameters and moments than the host
}

// NewProgram differentiates m's loss and plans its ops. The caller closes the program.
// The error wraps ErrModelInUse while m is trained, because the new program would move
// the parameters.
func NewProgram(m Model) (*Program, error) {
	parts, err := partsOf(m)
	if err != nil {
		return nil, err
	}
	if !parts.Batch.TryLock() {
		return nil, ErrModelInUse
	}
	defer parts.Batch.Unlock()
	return compile(parts)
}

// compile is NewProgram for a model that the caller has locked.
func compile(parts *layers.Model) (p *Program, err error) {
	defer recovered(&err, "train: compiling the model")
	params, err := parametersOf(parts)
	if err != nil {
		return nil, err
	}
	if parts.Averages < 0 || parts.Averages > len(params) {
		return nil, fmt.Errorf("train: the model has %d parameters and Averages %d", len(params), parts.Averages)
	}
	p = &Program{model: parts, params: params, averages: parameterCount(params[len(params)-parts.Averages:])}
	nodes, err := p.flatten()
	if err != nil {
		return nil, err
	}
	grads, err := gradients(parts.Loss, nodes)
	if err != nil {
		return nil, fmt.Errorf("train: differentiating the loss: %w", err)
	}
	p.backend, err = plan.NewBackend(parts.Device, plan.Model{
		Loss: parts.Loss, Parameters: nodes, Gradients: grads, Values: p.values, Grads: p.grads, M: p.adam.M, V: p.adam.V, Averages: p.averages,
	})
	if err != nil {
		return nil, fmt.Errorf("train: compiling the model: %w", err)
	}
	return p, nil
}

// recovered makes a panic an error. Gorgonia's differentiation and compiler panic on graphs that
// they do not support. It is for a defer statement.
func recovered(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%s: %v%s", what, r, crash.Place())
	}
}

// flatten moves the parameters to one slice, and returns their nodes.
func (p *Program) flatten() (G.Nodes, error) {
	size := parameterCount(p.params)
	p.values, p.grads = make([]float32, size), make([]float32, size)
	p.adam.M, p.adam.V = make([]float32, size), make([]float32, size)
	nodes, rest := make(G.Nodes, len(p.params)), p.values
	for k := range p.params {
		q := &p.params[k]
		n := copy(rest, q.values)
		q.values, rest = rest[:n:n], rest[n:]
		if err := G.Let(q.node, tensor.New(tensor.WithShape(q.Shape...), tensor.WithBacking(q.values))); err != nil {
			return nil, fmt.Errorf("train: parameter %q: %w", q.Name, err)
		}
		nodes[k] = q.node
	}
	return nodes, nil
}

// gradients returns the derivatives of loss with respect to nodes. A graph can be
// differentiated only once. If an earlier program or the caller has done so, gradients
// returns these derivatives.
func gradients(loss *G.Node, nodes G.Nodes) (G.Nodes, error) {
	if loss.Deriv() == nil {
		return G.Grad(loss, nodes...)
	}
	// The derivative of a loss with respect to itself is the constant 1.
	if one := loss.Deriv().Value(); one == nil || one.Data() != float32(1) {
		return nil, fmt.Errorf("it is part of another loss, which was differentiated before")
	}
	grads := make(G.Nodes, len(nodes))
	for k, n := range nodes {
		if grads[k] = n.Deriv(); grads[k] == nil {
			return nil, fmt.Errorf("it was differentiated before, but not with respect to %q", n.Name())
		}
	}
	return grads, nil
}

// Step computes the loss of one mini-batch and its gradients, for Gradients to return.
// It does not change the parameters. It is a pure function of parameters, batch and
// seed; the seed is for random ops of the model, such as dropout. The error wraps
// ErrNotFinite if the loss or a gradient is not finite. On a GPU Step copies the
// parameters to it and waits. Step allocates a few kilobytes at most, for batches of any
// size.
func (p *Program) Step(batch *samplers.MiniBatch, seed uint64) (float64, error) {
	loss, err := p.compute(batch, seed)
	return loss, named(err)
}

// named returns err with the name of this package, which it may have already.
func named(err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "train: ") {
		return err
	}
	return fmt.Errorf("train: %w", err)
}

// compute is Step; the caller names the package in its errors.
func (p *Program) compute(batch *samplers.MiniBatch, seed uint64) (float64, error) {
	if err := p.run(batch, seed, false); err != nil {
		return 0, err
	}
	loss, err := p.backend.Loss()
	if err != nil {
		return 0, err
	}
	return float64(loss), p.checkFinite(loss, !kernel.Finite(p.grads))
}

// run computes the loss and the gradients on the backend. It first gives the backend the host's
// parameters and, for steps of Advance, moments, unless the backend has newer ones of these.
func (p *Program) run(batch *samplers.MiniBatch, seed uint64, advances bool) error {
	if err := p.usable(); err != nil {
		return err
	}
	if !advances || !p.ahead {
		p.ahead = advances
		if err := p.backend.Push(advances); err != nil {
			return err
		}
	}
	if err := p.model.Batch.Set(batch, true, seed); err != nil {
		return err
	}
	return p.backend.Run()
}

// usable returns an error if the program is closed, or if another program has taken the
// model's parameters.
func (p *Program) usable() error {
	if p.backend == nil {
		return errClosed
	}
	value, ok := p.params[0].node.Value().(*tensor.Dense)
	if !ok || len(value.Float32s()) == 0 || unsafe.SliceData(value.Float32s()) != unsafe.SliceData(p.values) {
		return errReplaced
	}
	return nil
}

// checkFinite returns an error if the loss is not finite, or the gradient overflowed.
func (p *Program) checkFinite(loss float32, overflowed bool) error {
	switch {
	case !kernel.Finite([]float32{loss}):
		return fmt.Errorf("the loss is %v: %w", loss, ErrNotFinite)
	case overflowed:
		return fmt.Errorf("the loss is %v, but its gradient overflowed: %w", loss, ErrNotFinite)
	}
	return nil
}

// Advance trains on one mini-batch: it computes the loss and its gradients, and updates
// the parameters by one step of a, whose moments the program has. On a GPU it only queues
// this work. Pull copies parameters and moments to the host, Settle returns the losses. Call
// Settle after at most Depth calls of Advance, and Pull the moments before a Step.
func (p *Program) Advance(batch *samplers.MiniBatch, seed uint64, a Adam) error {
	return named(p.advance(batch, seed, a))
}

// advance is Advance; the caller names the package in its errors.
func (p *Program) advance(batch *samplers.MiniBatch, seed uint64, a Adam) error {
	if err := a.Validate(); err != nil {
		return err
	}
	if err := p.run(batch, seed, true); err != nil {
		return err
	}
	p.adam.Steps++
	return p.backend.Update(kernel.Adam(a.withDefaults()), p.adam.Steps)
}

// Depth returns the largest number of calls of Advance between two calls of Settle. The program
// must be open.
func (p *Program) Depth() int { return p.backend.Depth() }

// Settle waits for the steps of Advance and returns their losses since the last call of
// Settle. If the loss or the gradient of a step was not finite, this step and all later
// ones did not change the parameters. Settle then returns the losses before this step,
// counts only these as steps, and returns an error that wraps ErrNotFinite. The slice is
// valid until the next call of Advance.
func (p *Program) Settle() ([]float32, error) {
	if p.backend == nil {
		return nil, errClosed
	}
	losses, failed, err := p.backend.Settle()
	if err != nil || failed == 0 {
		return losses, err
	}
	first := p.adam.Steps - len(losses) + 1
	p.adam.Steps = failed - 1
	loss := losses[failed-first]
	return losses[:failed-first], p.checkFinite(loss, true)
}

// Pull waits for the steps of Advance and copies the parameters to the host, with moments
// also the moments and the model's own state, such as histories.
func (p *Program) Pull(moments bool) error {
	switch {
	case p.backend == nil:
		return errClosed
	case !p.ahead:
		return nil
	}
	return p.backend.Pull(moments)
}

// Products returns the sizes of the dense products of the last step, for benchmarks. The program
// must be open.
func (p *Program) Products() []plan.Product { return p.backend.Products() }

// Parameters returns the parameters' values, in the order of the model's
// Parameters, each row-major. Writing to the slice changes the model.
func (p *Program) Parameters() []float32 { return p.values }

// Gradients returns the gradients of the last Step, in the layout of Parameters. The
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
