package layers

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Controlled is a sampler whose blocks have a Control in some layers. A batch
// keeps a history for those (ops.History).
type Controlled interface {
	samplers.Sampler

	// HistoryNodes returns the number of nodes of the graph if the blocks of
	// layer l, counted from the input, have a control, and 0 if not.
	HistoryNodes(l int) int
}

// State is something that a model keeps from step to step beside its
// parameters. Training saves and restores it with them.
type State struct {
	Name   string    // distinct within a model
	Values []float32 // the state itself: writing restores it
}

// keepHistories prepares the slots for what the sampler's blocks will hold.
func (b *Batch) keepHistories() {
	sampler, ok := b.sampler.(Controlled)
	if !ok {
		return
	}
	for l, slot := range b.slots {
		if nodes := sampler.HistoryNodes(l); nodes > 0 {
			slot.KeepHistory(nodes)
		}
	}
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

// State returns what the model over the batch keeps from step to step; empty
// for all samplers without controls. The memory of the state is made at the
// first call or step that needs it. While a program runs on a device the state lies
// there: State waits for it, and Values are good until the next step.
func (b *Batch) State() []State {
	var all []State
	b.histories(func(name string, h *ops.History) {
		all = append(all, State{Name: name, Values: h.Values()})
	})
	return all
}

// StateBytes returns the memory that State takes, or will.
func (b *Batch) StateBytes() int64 {
	var sum int64
	b.histories(func(_ string, h *ops.History) { sum += h.Bytes() })
	return sum
}

// Commit takes what the last run computed into the state. A training loop calls
// it once after each step, on the goroutine that runs the machine; without, the
// state stays, and the estimate is unbiased but of larger variance.
func (b *Batch) Commit() {
	b.histories(func(_ string, h *ops.History) { h.Commit() })
}
