package train

import (
	"context"
	"slices"
	"sync"

	"github.com/gcn-layerwise/gcn/layers"
)

// learner is a law that batches are drawn by and that training changes: of their nodes, or of
// a sampler.
type learner interface {
	// observe learns from batch number batches−1, which has been trained.
	observe(item *Item, batches int) error
	// resume makes the laws of a run that has done the given number of batches, from state.
	resume(batches int) error
	// state returns the state that a checkpoint holds, in the learner's memory.
	state() []layers.State
	// release undoes the settings that the learner made in the model.
	release()
}

// published holds the laws of a learner. Laws are published at fixed batch numbers, so that the
// batches do not depend on the number of workers that draw ahead: the batches number k·every …
// (k+1)·every−1, period k, use the law that training has made before batch (k−1)·every.
type published[L any] struct {
	every  int                               // batches in a period
	law    func(values []float32) (L, error) // of values
	values []float32                         // what training changes
	used   [2][]float32                      // of the law of each period of the same parity

	mutex   sync.Mutex    // of the fields below; workers wait for laws
	newest  int           // the last period that has a law
	laws    [2]L          // of the last two periods, by parity
	changed chan struct{} // closed when there is a new law
}

// begin publishes the laws before the first batch.
func (p *published[L]) begin(every int, values []float32, law func([]float32) (L, error)) error {
	p.every, p.values, p.law, p.changed = every, values, law, make(chan struct{})
	p.used = [2][]float32{slices.Clone(values), slices.Clone(values)}
	return p.resume(0)
}

// resume publishes the laws of the current period and the next one, from used. No worker may
// draw yet.
func (p *published[L]) resume(batches int) (err error) {
	p.newest = batches/p.every + 1
	for parity := range p.laws {
		if p.laws[parity], err = p.law(p.used[parity]); err != nil {
			return err
		}
	}
	return nil
}

// of returns the law of a batch. It waits until the law is published; the error is the
// context's. Workers call it concurrently.
func (p *published[L]) of(ctx context.Context, batch int) (L, error) {
	period := batch / p.every
	for {
		p.mutex.Lock()
		law, newest, changed := p.laws[period%2], p.newest, p.changed
		p.mutex.Unlock()
		if period <= newest {
			return law, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return law, ctx.Err()
		}
	}
}

// publish publishes a law, if the given number of batches ends a period. It replaces the law of
// two periods before, which has no batch left to draw.
func (p *published[L]) publish(batches int) error {
	if batches%p.every != 0 {
		return nil
	}
	period := batches/p.every + 1
	copy(p.used[period%2], p.values)
	law, err := p.law(p.used[period%2])
	if err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.newest, p.laws[period%2] = period, law
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}
