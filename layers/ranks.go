package layers

import (
	"context"
	"fmt"
	"hash/fnv"
	mathbits "math/bits"
	"slices"
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

// even returns equal shares of n rows of the given width: rank r computes the rows shares[r]
// to shares[r+1]−1.
func (r *inference) even(n, width int) (shares []int) {
	if r.ranks == nil {
		return []int{0, n}
	}
	size, grain := r.ranks.Size(), r.Grain(width)
	for rank := range size + 1 {
		shares = append(shares, min((n+grain-1)/grain*rank/size*grain, n))
	}
	return shares
}

// mine returns this rank's part of shares.
func (r *inference) mine(shares []int) (lo, hi int) {
	if r.ranks == nil {
		return shares[0], shares[1]
	}
	return shares[r.ranks.Rank()], shares[r.ranks.Rank()+1]
}

// shares returns the parts of the rows of layer l that the ranks compute. They are of about
// equal work, or equal if ranks hold parts of the data: they then go through their parts together.
func (k *keptRows) shares(r *inference, l int) []int {
	rows := k.rows[l]
	if r.ranks == nil || r.p.Share != nil || r.features.Share != nil {
		return r.even(len(rows), r.width(l))
	}
	size, grain := r.ranks.Size(), r.Grain(r.width(l))
	k.keepDivided(r)
	if s := k.divided[l]; len(s) == size+1 {
		return s
	}
	var all, done float64
	for _, v := range rows {
		all += r.work(l, v)
	}
	shares := []int{0}
	for i, v := range rows {
		for i%grain == 0 && len(shares) < size && done >= all*float64(len(shares))/float64(size) {
			shares = append(shares, i)
		}
		done += r.work(l, v)
	}
	for len(shares) <= size {
		shares = append(shares, len(rows))
	}
	k.divided[l] = shares
	return shares
}

// keepDivided drops the shares of earlier passes if the order of a product has changed, which
// changes the work of a row. Otherwise a rank that keeps no shares would divide differently.
func (k *keptRows) keepDivided(r *inference) {
	if len(k.divided) != len(k.rows) || !slices.Equal(k.orders, r.orders) {
		k.divided, k.parts = make([][]int, len(k.rows)), make([]*rankRows, len(k.rows))
		k.orders = slices.Clone(r.orders)
	}
}

// work returns an estimate of the work for the row of node v of layer l.
func (r *inference) work(l int, v int32) float64 {
	layer, entries := r.model.layers[l], float64(r.p.RowNNZ(int(v)))
	in, out := float64(layer.in), float64(layer.out)
	switch {
	case r.orders[l]:
		return sparseCost * entries * out
	case layer.dense || l == 0 && r.features.Sparse == nil:
		return in * out // P·X is known, or kept from the first call
	}
	return in*out + sparseCost*entries*in
}

// width returns the larger width of the input and the output of layer l.
func (r *inference) width(l int) int {
	layer := r.model.layers[l]
	return max(layer.in, layer.out)
}

// agree returns an error if the ranks would divide the work differently. Without it a rank
// could wait for rows that no other rank sends. It compares sizes: the nodes, the rows and the
// width of each layer and the shares of its rows, the orders of the products, and the grain of
// the BLAS. It does not compare edges, features or weights: package train does. The digest
// travels in the bits of a float32.
func (r *inference) agree(kept *keptRows) error {
	if r.ranks == nil {
		return nil
	}
	digest := fnv.New32a()
	fmt.Fprint(digest, r.p.Nodes(), r.orders, r.Grain(1))
	for l, rows := range kept.rows {
		_, order, shares := kept.parted(r, l)
		fmt.Fprint(digest, " ", len(rows), r.width(l), kept.histories, order, shares)
	}
	sums := make([]uint32, r.ranks.Size())
	values := unsafe.Slice((*float32)(unsafe.Pointer(&sums[0])), len(sums))
	parts := make([][]float32, len(sums))
	for rank := range parts {
		parts[rank] = values[rank : rank+1]
	}
	own := digest.Sum32()
	sums[r.ranks.Rank()] = own
	if err := r.ranks.Gather(r.ctx, parts); err != nil {
		return err
	}
	for rank, sum := range sums {
		if sum != own {
			return fmt.Errorf("rank %d infers with a model or data of other sizes, or with another BLAS, than rank %d: all ranks need the same", rank, r.ranks.Rank())
		}
	}
	return nil
}

// sharing returns the ranks that share the rows of the model's inference, or nil.
func (m *GCN) sharing() Ranks {
	if m.Ranks == nil || m.Ranks.Size() == 1 || m.Device != nil {
		return nil
	}
	return m.Ranks
}

// gather gives every rank all rows of values. Each has computed its share.
func (r *inference) gather(values []float32, width int, shares []int) error {
	if r.ranks == nil {
		return nil
	}
	parts := make([][]float32, r.ranks.Size())
	for rank := range parts {
		parts[rank] = values[shares[rank]*width : shares[rank+1]*width]
	}
	return r.ranks.Gather(r.ctx, parts)
}

// together does the work of chunks, and calls bring before each part to fetch its rows. All
// ranks call bring equally often. A rank that has fewer parts calls it with zero rows.
func (r *inference) together(shares []int, width int, bring func(lo, n int) error, f func(part *inference, lo, n int) error) error {
	chunk, rounds := r.ChunkRows(width), 0
	for rank := range r.ranks.Size() {
		rounds = max(rounds, (shares[rank+1]-shares[rank]+chunk-1)/chunk)
	}
	lo, last := r.mine(shares)
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
