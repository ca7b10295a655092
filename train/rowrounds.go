package train

import (
	"context"
)

// rowRounds is the meeting point of the sampling workers with the fetches of rows of the
// Laplacian. A sampler asks for the rows of each layer, and waits. When all mini-batches of
// an update on this rank have asked for a layer's rows, one fetch gets them. So all ranks
// fetch once for each layer of each update, however their workers run.
type rowRounds struct {
	own      int             // mini-batches of an update on this rank
	requests chan rowRequest // from the workers
	later    []rowRequest    // of updates after the current one
}

// rowRequest holds the rows that one mini-batch reads in its next layer.
type rowRequest struct {
	index  int // of the mini-batch, on this rank
	rows   []int32
	done   chan struct{} // closed when the rows are here
	failed error         // the mini-batch cannot be drawn
}

func newRowRounds(own int) *rowRounds {
	return &rowRounds{own: own, requests: make(chan rowRequest)}
}

// ask returns when the rows are here, or when ctx ends. It is for a worker.
func (r *rowRounds) ask(ctx context.Context, index int, rows []int32) error {
	request := rowRequest{index: index, rows: rows, done: make(chan struct{})}
	if err := r.send(ctx, request); err != nil {
		return err
	}
	select {
	case <-request.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *rowRounds) send(ctx context.Context, request rowRequest) error {
	select {
	case r.requests <- request:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gather waits for the requests of all mini-batches of an update for a layer.
func (r *rowRounds) gather(ctx context.Context, update int) ([]rowRequest, error) {
	var now, later []rowRequest
	take := func(request rowRequest) {
		if request.index/r.own == update {
			now = append(now, request)
		} else {
			later = append(later, request)
		}
	}
	for _, request := range r.later {
		take(request)
	}
	for len(now) < r.own {
		select {
		case request := <-r.requests:
			take(request)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r.later = later
	for _, request := range now {
		if request.failed != nil {
			return nil, request.failed
		}
	}
	return now, nil
}
