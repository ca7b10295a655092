package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gorgonia.org/vecf32"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/ranks"
)

// update holds the data and memory that the updates of a run share.
type update struct {
	fetcher *fetcher // nil: each rank has all data
	next    func() (*Item, error)

	sum    *ranks.Sum // nil: an update is one mini-batch
	values []float32  // the gradients of an update, then its loss

	busy, adding float64 // seconds on this rank's own mini-batches, and in sums over the ranks
}

// sent returns the bytes that this rank has sent for updates.
func (u *update) sent() (bytes int64) {
	if u.sum != nil {
		bytes = u.sum.Sent
	}
	if u.fetcher != nil {
		bytes += u.fetcher.sent
	}
	return bytes
}

// prepareSum allocates the sums of updates of several mini-batches, if the model can be trained so.
func (r *run) prepareSum() error {
	micro, group := r.options.Micro, r.options.Group
	if group != nil && group.Size() > micro {
		return fmt.Errorf("train: %d ranks share the mini-batches of an update, and Options.Micro (--micro) is %d; it must be at least %[1]d, and it changes the training: an update then takes the mean gradient of so many mini-batches", group.Size(), micro)
	}
	if micro == 1 {
		return nil
	}
	// The histories of a Refresher follow from the parameters: all ranks compute the same.
	if r.model.Refresher == nil && len(r.model.Batch.State()) > 0 {
		return fmt.Errorf("train: an update of %d mini-batches cannot be combined with a sampler that keeps the histories of each batch (vrgcn, control=rolling): the next batch needs them, and another rank may have it; take control=refresh (--method ladies-cv), whose histories follow from the parameters, or one mini-batch an update", micro)
	}
	size := len(r.program.Parameters()) + 1
	r.sum, r.values = &ranks.Sum{Leaves: micro, Length: size}, make([]float32, size)
	return nil
}

// step makes the next update: of one mini-batch, or with the mean gradient of several, which the
// ranks share.
func (r *run) step(ctx context.Context) error {
	s := &r.state
	r.dirty = true
	begun := time.Now()
	var item *Item
	for leaf := r.stream.lo; leaf < r.stream.hi; leaf++ {
		start := time.Now()
		var err error
		if item, err = r.next(); err != nil {
			return err
		}
		ready := time.Now()
		if err := r.learn(item, leaf); err != nil {
			return r.failed(s.Batch, err)
		}
		s.WaitSeconds += ready.Sub(start).Seconds()
		s.TrainSeconds += time.Since(ready).Seconds()
		s.SamplingSeconds += item.Sampling.Seconds()
	}
	if r.sum != nil {
		r.busy += time.Since(begun).Seconds()
		return r.add(ctx)
	}
	s.Batch++
	if r.unsettled++; r.unsettled == r.program.Depth() || len(r.learners) > 0 {
		if err := r.settle(); err != nil {
			return err
		}
	}
	for _, l := range r.learners {
		if err := l.observe(item, s.Batch); err != nil {
			return err
		}
	}
	r.model.Batch.Commit() // a queued step may still fail: settle then returns the error
	return nil
}

// learn trains on the mini-batch of an update, or adds its gradients to the sum.
func (r *run) learn(item *Item, leaf int) error {
	if r.sum == nil {
		return r.program.advance(item.Blocks, item.Dropout, r.scheduled())
	}
	loss, err := r.program.compute(item.Blocks, item.Dropout)
	switch {
	case errors.Is(err, ErrNotFinite):
		loss = math.NaN() // reaches all ranks through the sum
	case err != nil:
		return err
	}
	n := copy(r.values, r.program.Gradients())
	r.values[n] = float32(loss)
	r.sum.Add(leaf, r.values)
	return nil
}

// add ends an update of several mini-batches: it takes a step with the mean of their gradients.
func (r *run) add(ctx context.Context) error {
	start := time.Now()
	if err := r.fetcher.wait(); err != nil {
		return err
	}
	if err := r.sum.Total(ctx, r.options.Group, r.values); err != nil {
		return err
	}
	r.adding += time.Since(start).Seconds()
	start = time.Now()
	s, grads := &r.state, r.program.Gradients()
	vecf32.Scale(r.values, 1/float32(r.options.Micro))
	loss := r.values[len(grads)]
	if !kernel.Finite(r.values) {
		return &RanksError{Err: r.failed(s.Batch, r.program.checkFinite(loss, true))}
	}
	copy(grads, r.values)
	r.scheduled().step(r.program.Parameters(), grads, &r.program.adam, r.program.averages)
	s.Batch++
	s.LossSum += number(loss)
	s.TrainSeconds += time.Since(start).Seconds()
	return nil
}

// settle waits for the queued steps, and adds their losses to the state.
func (r *run) settle() error {
	if r.unsettled == 0 {
		return nil
	}
	start := time.Now()
	s := &r.state
	losses, err := r.program.Settle()
	for _, loss := range losses {
		s.LossSum += number(loss)
	}
	first := s.Batch - r.unsettled
	r.unsettled = 0
	s.TrainSeconds += time.Since(start).Seconds()
	if err != nil {
		s.Batch = first + len(losses)
		return r.failed(s.Batch, err)
	}
	return nil
}

// failed adds the number of the update to err, and advice if numbers overflowed.
func (r *run) failed(update int, err error) error {
	name := "batch"
	if r.options.Micro > 1 {
		name = "update"
	}
	err = fmt.Errorf("train: %s %d (epoch %d): %w", name, update, r.epochOf(update), err)
	switch {
	case errors.Is(err, ErrNotFinite) && update == 0: // before any step, so the step size is not the cause
		err = fmt.Errorf("%w; features or starting parameters are too large: scale them, as normalize=standardize does", err)
	case errors.Is(err, ErrNotFinite):
		err = fmt.Errorf("%w; try a smaller step size than %v", err, r.options.Adam.LR)
	}
	return err
}

// refreshes reports whether the histories of a control are refreshed before the next batch.
func (r *run) refreshes() bool {
	every := float64(r.options.ControlEvery) * math.Floor(r.options.Adam.LR/r.scheduled().LR)
	return r.model.Refresher != nil && math.Mod(float64(r.state.Batch), every) == 0
}

// refresh fills the histories.
func (r *run) refresh(ctx context.Context, fill func(context.Context) error) error {
	if err := r.settle(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.program.Pull(false); err != nil {
		return err
	}
	if err := fill(ctx); err != nil {
		return fmt.Errorf("train: before batch %d: %w", r.state.Batch, err)
	}
	r.dirty = true
	r.state.RefreshSeconds += time.Since(start).Seconds()
	return nil
}
