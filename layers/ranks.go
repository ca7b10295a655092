package layers

import "context"

// Ranks are the processes that share the rows of an inference. Each computes a part of every
// layer's rows and gets the others' parts, so all have the result, with the same bits as one
// process. All ranks call Infer with equal arguments. A train.Group is Ranks.
type Ranks interface {
	Rank() int
	Size() int

	// Gather fills parts[r] with parts[r] of each rank r.
	Gather(ctx context.Context, parts [][]float32) error
}

// share returns the rows [lo, hi) of n that a rank computes: whole chunks, since the bits of
// a row may depend on the chunk that it is in.
func (r *inference) share(rank, n, chunk int) (lo, hi int) {
	if r.ranks == nil {
		return 0, n
	}
	chunks, size := (n+chunk-1)/chunk, r.ranks.Size()
	return min(chunks*rank/size*chunk, n), min(chunks*(rank+1)/size*chunk, n)
}

// mine returns the rows that this rank computes.
func (r *inference) mine(n, chunk int) (lo, hi int) {
	if r.ranks == nil {
		return 0, n
	}
	return r.share(r.ranks.Rank(), n, chunk)
}

// gather gives every rank all n rows of values. Each has computed its own rows.
func (r *inference) gather(values []float32, n, width, chunk int) error {
	if r.ranks == nil {
		return nil
	}
	parts := make([][]float32, r.ranks.Size())
	for rank := range parts {
		lo, hi := r.share(rank, n, chunk)
		parts[rank] = values[lo*width : hi*width]
	}
	return r.ranks.Gather(r.ctx, parts)
}
