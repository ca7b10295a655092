package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Controlled is a sampler whose blocks have a Control in some layers. A batch keeps
// histories (ops.History) for these layers.
type Controlled interface {
	samplers.Sampler

	// HistoryNodes returns the graph's number of nodes if the blocks of layer l have
	// a control, or 0. Layers count from the input.
	HistoryNodes(l int) int
}

// State is data that a model keeps from step to step beside its parameters, such as a
// history. Training saves and restores both.
type State struct {
	Name   string    // distinct within a model
	Values []float32 // the model's own memory: write to it to restore
}

// histories calls f for every history with its name.
func (b *Batch) histories(f func(name string, h *ops.History)) {
	for l, slot := range b.slots {
		for k, h := range slot.Histories() {
			name := fmt.Sprintf("layer%d.history", l)
			if k > 0 {
				name += fmt.Sprint(k)
			}
			f(name, h)
		}
	}
}

// State returns the state of the model over the batch. It is empty if the sampler is not
// Controlled. The first call or step that needs the state allocates it. If the model is on
// a GPU, State waits and copies the state to the host; Values are then valid until the
// next step.
func (b *Batch) State() []State {
	var all []State
	if b.refresher != nil { // its histories follow from these parameters
		return []State{{Name: "refresh.parameters", Values: b.refresher.params}}
	}
	b.histories(func(name string, h *ops.History) {
		all = append(all, State{Name: name, Values: h.Values()})
	})
	return all
}

// StateBytes returns the size of the state, and of P·(P·X) of GCNOptions.ControlLinear, also
// before they are allocated.
func (b *Batch) StateBytes() int64 {
	var sum int64
	b.histories(func(_ string, h *ops.History) { sum += h.Bytes() })
	if b.refresher != nil && b.refresher.linear != nil {
		sum += b.refresher.linear.Bytes()
	}
	return sum
}

// Commit stores the last run's rows in the histories. A training loop calls it once after
// each step, on the goroutine that runs the graph. Without Commit the state does not
// change; the estimate is then still unbiased, but of larger variance.
func (b *Batch) Commit() {
	b.histories(func(_ string, h *ops.History) { h.Commit() })
}
