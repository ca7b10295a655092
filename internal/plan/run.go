package plan

import (
	"slices"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/internal/device"
)

// Run is one use of a plan. It owns everything that changes while the ops compute: the
// data that an op keeps for its gradient, and scratch memory. The plan, its graph and
// their ops only change while the graph is built. Several runs of one plan may therefore
// work side by side, each on one goroutine at a time, if each reads a batch of its own:
// see Use. Parameters are read-only in a run.
//
//	Executor ── Run ── state of each op, by StateOf
//	             │
//	            Plan ── readers of each value: an op's decisions
//
// An op asks the plan what it must do, such as whether a gradient is wanted, when it makes
// its state for a run. It sets no field of another op.
type Run struct {
	*Plan
	Device *device.Device // nil: the CPU
	states map[any]any
	own    map[any]any // see Use

	products []Product // see Call.Dense

	// On a device:
	Upload   *device.Uploader               // of the batches
	sends    []func(*device.Uploader) error // see AddInput
	resident []residentRows                 // state of ops that stays on the device
	buffers  []*device.Buffer               // that Close frees

	// Status is the address of an int64 on the device, or 0. When that number is not 0, an
	// earlier step was not finite, and ops must leave their state unchanged.
	Status device.Pointer
}

// residentRows is state of an op that stays on the device from run to run.
type residentRows interface {
	// Begin is called before each run.
	Begin()
	// Pull waits and brings the host's copy up to date.
	Pull() error
	// Release ends the run's use of the state.
	Release() error
}

// AddInput makes each run on the device call send, which adds a part of the batch to the upload.
func (r *Run) AddInput(send func(*device.Uploader) error) { r.sends = append(r.sends, send) }

// AddResident makes r tell rows of each run, of Pull and of Close.
func (r *Run) AddResident(rows residentRows) { r.resident = append(r.resident, rows) }

// NewRun returns a run of p on the CPU, without state.
func NewRun(p *Plan) *Run {
	return &Run{Plan: p, states: make(map[any]any), own: make(map[any]any)}
}

// StateOf returns r's state of type T under key, zero at the first call. An op and its gradient
// share state: the key is then the forward op.
func StateOf[T any](r *Run, key any) *T {
	if s, ok := r.states[key]; ok {
		return s.(*T)
	}
	s := new(T)
	r.states[key] = s
	return s
}

// Use makes r read own, a slot, targets or a mode, where the graph has shared.
func Use[T any](r *Run, shared, own *T) { r.own[shared] = own }

// In returns what r reads where the graph has shared: an argument of Use, or shared.
func In[T any](r *Run, shared *T) *T {
	if own, ok := r.own[shared]; ok {
		return own.(*T)
	}
	return shared
}

// Whole returns a plan without steps that knows the readers of all values of g. Gorgonia's
// own machines compute all of g.
func Whole(g *G.ExprGraph) *Plan {
	p := &Plan{readers: make(map[*G.Node]G.Nodes)}
	for _, n := range g.AllNodes() {
		for _, child := range Children(n) {
			p.readers[child] = append(p.readers[child], n)
		}
	}
	return p
}

// Readers returns the nodes of p whose ops read n's value. An op counts once an input.
func (p *Plan) Readers(n *G.Node) G.Nodes { return p.readers[n] }

// ReadOnlyBy reports whether n's value has readers, f holds for all of them, and it is
// neither an output nor a gradient.
func (p *Plan) ReadOnlyBy(n *G.Node, f func(reader *G.Node) bool) bool {
	others := slices.ContainsFunc(p.readers[n], func(r *G.Node) bool { return !f(r) })
	return len(p.readers[n]) > 0 && !others && n != p.Output && !slices.Contains(p.Gradients, n) && !slices.Contains(p.Also, n)
}
