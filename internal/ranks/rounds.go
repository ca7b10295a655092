package ranks

import (
	"context"
)

// Rounds is the meeting point of the sampling workers with the fetches of rows of the
// Laplacian. A sampler asks for the rows of each layer, and waits. When all mini-batches of
// an update on this rank have asked for a layer's rows, one fetch gets them. So all ranks
// fetch once for each layer of each update, however their workers run.
type Rounds struct {
	own      int          // mini-batches of an update on this rank
	requests chan request // from the workers
	later    []request    // of updates after the current one
}

// request holds the rows that one mini-batch reads in its next layer.
type request struct {
	index  int // of the mini-batch, on this rank
	rows   []int32
	done   chan struct{} // closed when the rows are here
	failed error         // the mini-batch cannot be drawn
}

// NewRounds returns the rounds of a rank that has so many mini-batches of an update.
func NewRounds(own int) *Rounds { return &Rounds{own: own, requests: make(chan request)} }

// Ask returns when the rows of a mini-batch are here, or when ctx ends. It is for a worker.
func (r *Rounds) Ask(ctx context.Context, index int, rows []int32) error {
	q := request{index: index, rows: rows, done: make(chan struct{})}
	r.send(ctx, q)
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fail says that a mini-batch cannot be drawn. It is for a worker.
func (r *Rounds) Fail(ctx context.Context, index int, err error) {
	r.send(ctx, request{index: index, failed: err})
}

func (r *Rounds) send(ctx context.Context, q request) {
	select {
	case r.requests <- q:
	case <-ctx.Done():
	}
}

// Fetch gets the rows that the mini-batches of an update read in their next layer, once all
// have asked.
func (r *Rounds) Fetch(ctx context.Context, p *Partition, update int) error {
	var now, later []request
	take := func(q request) {
		if q.index/r.own == update {
			now = append(now, q)
		} else {
			later = append(later, q)
		}
	}
	for _, q := range r.later {
		take(q)
	}
	for len(now) < r.own {
		select {
		case q := <-r.requests:
			take(q)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.later = later
	var rows []int32
	for _, q := range now {
		if q.failed != nil {
			return q.failed
		}
		rows = append(rows, q.rows...)
	}
	if err := p.adjacency.fetch(ctx, rows); err != nil {
		return err
	}
	for _, q := range now {
		close(q.done)
	}
	return nil
}
