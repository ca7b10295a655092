package train

import (
	"context"
	"sync"
)

// published holds laws that batches are drawn by and that training changes: of their nodes,
// or of a sampler. Laws are published at fixed batch numbers, so that the batches do not
// depend on the number of workers that draw ahead: the batches number k·every …
// (k+1)·every−1, period k, use the law that training has made before batch (k−1)·every.
type published[L any] struct {
	every int // batches in a period

	mutex   sync.Mutex    // of the fields below; workers wait for laws
	newest  int           // the last period that has a law
	laws    [2]L          // of the last two periods, by parity
	changed chan struct{} // closed when there is a new law
}

func publishEvery[L any](batches int) published[L] {
	return published[L]{every: batches, changed: make(chan struct{})}
}

// restart publishes the laws of a run that has done the given number of batches: the current
// period's and the next one's. No worker may draw yet.
func (p *published[L]) restart(batches int, law func(parity int) (L, error)) (err error) {
	p.newest = batches/p.every + 1
	for parity := range p.laws {
		if p.laws[parity], err = law(parity); err != nil {
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

// ends reports whether the given number of batches ends a period, and for which period a law
// is then published.
func (p *published[L]) ends(batches int) (period int, ends bool) {
	return batches/p.every + 1, batches%p.every == 0
}

// publish publishes the law of a period. It replaces the law of two periods before, which has
// no batch left to draw.
func (p *published[L]) publish(period int, law L) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.newest, p.laws[period%2] = period, law
	close(p.changed)
	p.changed = make(chan struct{})
}
