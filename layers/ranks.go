package layers

import (
	"context"
	mathbits "math/bits"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
)

// Ranks are the processes that share the rows of an inference. Each computes a part of every
// layer's rows and gets the others' parts, so all have the result, with the same bits as one
// process. All ranks call Infer with equal arguments. A train.Group is Ranks.
type Ranks interface {
	Rank() int
	Size() int

	// Exchange sends send[r] to each rank r, and fills receive[r] with the values of
	// rank r. receive[r] has the length of the sent part.
	Exchange(ctx context.Context, send, receive [][]float32) error
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

// sharing returns the ranks that share the rows of the model's inference, or nil.
func (m *GCN) sharing() Ranks {
	if m.Ranks == nil || m.Ranks.Size() == 1 || m.Device != nil {
		return nil
	}
	return m.Ranks
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

// together does the work of chunks, and calls bring before each part to fetch its rows. All
// ranks call bring equally often. A rank that has fewer parts calls it with zero rows.
func (r *inference) together(n, width int, bring func(lo, n int) error, f func(part *inference, lo, n int) error) error {
	chunk, rounds := r.ChunkRows(width), 0
	for rank := range r.ranks.Size() {
		lo, hi := r.share(rank, n, chunk)
		rounds = max(rounds, (hi-lo+chunk-1)/chunk)
	}
	lo, last := r.mine(n, chunk)
	for range rounds {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		count := min(chunk, last-lo)
		if err := bring(lo, count); err != nil {
			return err
		}
		if count > 0 {
			if err := f(r, lo, count); err != nil {
				return err
			}
		}
		lo += count
	}
	return nil
}

// bring returns a function that fetches the rows of other ranks that layer l reads for its
// needed rows lo to lo+n, or nil if this process has everything.
func (r *inference) bring(l int) func(lo, n int) error {
	rows, shares := r.rows, r.graphShares()
	layer := r.model.layers[l]
	reads := layer.skip != nil || l == 0 && (layer.dense || layer.residual != ResidualNone)
	if x := r.features; reads && x.Share != nil {
		shares = append(shares, x.Share)
	}
	if e := r.model.exact; l == 0 && e != nil && e.px.Share != nil {
		shares = append(shares, e.px.Share)
	}
	return r.fetch(shares, func(lo, n int) []int32 { return rows[lo : lo+n] })
}

// bringRows returns a function that fetches the needed rows lo to lo+n of P, or nil.
func (r *inference) bringRows(rows []int32) func(lo, n int) error {
	return r.fetch(r.graphShares(), func(lo, n int) []int32 { return rows[lo : lo+n] })
}

func (r *inference) graphShares() []*graph.Share {
	if r.p.Share == nil {
		return nil
	}
	return []*graph.Share{r.p.Share}
}

// gather adds the nodes, of n, that are in the sets of other ranks.
func (s *nodeSet) gather(ctx context.Context, share *graph.Share, n int) error {
	const bits = 32
	size := (n + bits - 1) / bits
	parts := make([][]float32, len(share.Bounds)-1)
	for rank := range parts {
		parts[rank] = make([]float32, size)
	}
	words := func(rank int) []uint32 {
		return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(parts[rank]))), size)
	}
	own := words(share.Rank)
	for v := range int32(n) {
		if s.has(v) {
			own[v/bits] |= 1 << (v % bits)
		}
	}
	if err := share.Gather(ctx, parts); err != nil {
		return err
	}
	for rank := range parts {
		for k, word := range words(rank) {
			for ; word != 0; word &= word - 1 {
				s.add(int32(k*bits + mathbits.TrailingZeros32(word)))
			}
		}
	}
	return nil
}

// bringInputs returns a function that fetches the features of nodes lo to lo+n for layer
// l, or nil if there is nothing to fetch.
func (r *inference) bringInputs(l int) func(lo, n int) error {
	var shares []*graph.Share
	if x := r.features; l == 0 && x.Share != nil {
		shares = append(shares, x.Share)
	}
	var ids []int32
	return r.fetch(shares, func(lo, n int) []int32 {
		ids = ids[:0]
		for v := lo; v < lo+n; v++ {
			ids = append(ids, int32(v))
		}
		return ids
	})
}

func (r *inference) fetch(shares []*graph.Share, rows func(lo, n int) []int32) func(lo, n int) error {
	if len(shares) == 0 {
		return nil
	}
	return func(lo, n int) error {
		for _, s := range shares {
			if err := s.Fetch(r.ctx, rows(lo, n)); err != nil {
				return err
			}
		}
		return nil
	}
}
