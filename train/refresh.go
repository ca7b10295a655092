package train

import (
	"context"
	"fmt"
	"time"
)

// refresh refreshes the histories of a control before every ControlEvery-th batch.
func (r *run) refresh(ctx context.Context) error {
	if !r.refreshes() || r.refreshed == r.state.Batch {
		return nil
	}
	return r.timeRefresh(ctx, r.model.Refresher.Refresh)
}

// refreshes reports whether the histories are refreshed before the next batch.
func (r *run) refreshes() bool {
	return r.model.Refresher != nil && r.state.Batch%r.options.ControlEvery == 0
}

// restoreHistories refreshes the histories of a resumed run as its last refresh did, unless
// they are refreshed now anyway.
func (r *run) restoreHistories(ctx context.Context) error {
	if r.model.Refresher == nil || r.refreshes() {
		return nil
	}
	return r.timeRefresh(ctx, r.model.Refresher.Restore)
}

func (r *run) timeRefresh(ctx context.Context, refresh func(context.Context) error) error {
	if err := r.settle(); err != nil {
		return err
	}
	start := time.Now()
	if err := r.program.Pull(nil); err != nil {
		return err
	}
	if err := refresh(ctx); err != nil {
		return fmt.Errorf("train: before batch %d: %w", r.state.Batch, err)
	}
	r.dirty = true
	r.state.RefreshSeconds += time.Since(start).Seconds()
	return nil
}
