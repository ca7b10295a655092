package layers

import (
	"slices"

	"github.com/gcn-layerwise/gcn/internal/kernel"
	"github.com/gcn-layerwise/gcn/internal/memory"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// rankRows are the rows of a hidden layer that one of several ranks holds: the rows that
// it computes, and the rows of other ranks that its part of the next layer reads.
type rankRows struct {
	rank, size int
	order      []int32     // the nodes of all rows of the layer, rank after rank; each rank's ascend
	digest     uint32      // of order
	shares     []int       // rank r computes order[shares[r]] to order[shares[r+1]−1]
	sums       []float32   // row sums of P at the part of order that this rank computes
	rows       []int32     // the nodes whose rows this rank holds, by the rank that computes them; each rank's ascend
	bounds     []int       // rank r computes rows[bounds[r]] to rows[bounds[r+1]−1]
	sends      [][]int     // by rank, the rows of this rank that it reads: numbers from 0, ascending
	packed     [][]float32 // by rank, the values of these rows

	written *kernel.LaplacianRows // of this rank's part of the next layer; nil: not yet
}

// holdsPart reports whether this rank holds only a part of the output of layer l. This needs
// a next layer that reads it by node, without a product or a norm of all rows before; that this
// rank knows all neighbours of each node; and no jumping knowledge.
func (r *inference) holdsPart(l int, kept *keptRows) bool {
	return r.ranks != nil && l < len(r.model.layers)-1 && !kept.few && !kept.histories && r.p.Share == nil &&
		!r.orders[l+1] && r.model.layers[l+1].pre == nil && !r.model.layers[l].jumps()
}

// parted returns the nodes of the rows of layer l, a digest of their order if the ranks have
// chosen it, and the shares of them that the ranks compute.
func (k *keptRows) parted(r *inference, l int) (order []int32, digest uint32, shares []int) {
	if r.holdsPart(l, k) {
		p := k.partOf(r, l)
		return p.order, p.digest, p.shares
	}
	return k.rows[l], 0, k.shares(r, l)
}

// partOf returns the rows of layer l that this rank holds. It keeps them. All ranks find the
// same shares, because these depend on the graph, the nodes and the model alone.
func (k *keptRows) partOf(r *inference, l int) *rankRows {
	rank, size := r.ranks.Rank(), r.ranks.Size()
	k.keepDivided(r)
	if p := k.parts[l]; p != nil && p.rank == rank && p.size == size {
		return p
	}
	above, _, ends := k.parted(r, l+1)
	// mark calls f for the nodes whose rows of layer l a rank reads, with repeats.
	mark := func(rank int, f func(v int32)) {
		for _, v := range above[ends[rank]:ends[rank+1]] {
			f(v)
			for _, u := range r.p.Adjacency.Row(int(v)) {
				f(u)
			}
		}
	}
	p := &rankRows{rank: rank, size: size, order: k.rows[l], bounds: make([]int, size+1), sends: make([][]int, size), packed: make([][]float32, size)}
	if r.freeRows(l) {
		d := newDealer(r.p.Nodes(), size)
		for rank := range size {
			mark(rank, func(v int32) { d.reads(rank, v) })
		}
		p.order, p.shares = d.deal(k.rows[l], func(v int32) float64 { return r.work(l, v) })
		for _, v := range p.order {
			const prime = 16777619 // of FNV-1a
			p.digest = (p.digest ^ uint32(v)) * prime
		}
	} else {
		p.shares = k.shares(r, l)
	}
	own, marks := p.order[p.shares[rank]:p.shares[rank+1]], make([]bool, r.p.Nodes())
	for other := range size {
		if other == rank {
			continue
		}
		clear(marks)
		mark(other, func(v int32) { marks[v] = true })
		for i, v := range own {
			if marks[v] {
				p.sends[other] = append(p.sends[other], i)
			}
		}
	}
	clear(marks)
	mark(rank, func(v int32) { marks[v] = true })
	for other := range size {
		for _, v := range p.order[p.shares[other]:p.shares[other+1]] {
			if other == rank || marks[v] {
				p.rows = append(p.rows, v)
			}
		}
		p.bounds[other+1] = len(p.rows)
	}
	k.parts[l] = p
	return p
}

// freeRows reports whether ranks may compute any rows of layer l: a row has the same bits in
// any chunk, and its features are on each rank.
func (r *inference) freeRows(l int) bool { return r.Grain(r.width(l)) == 1 && r.features.Share == nil }

// hiddenPart returns the output of layer l at the rows that this rank holds.
func (r *inference) hiddenPart(l int, h plan.Rows, kept *keptRows, name plan.Scratch) (plan.Rows, error) {
	p, width := kept.partOf(r, l), r.model.layers[l].out
	out, err := r.Scratch(name, len(p.rows)*width)
	if err != nil {
		return h, err
	}
	r.rows, r.ordered, r.sums = p.order, true, nil
	if err := r.Needed(r.rows, false); err != nil {
		return h, err
	}
	first, last := p.shares[p.rank], p.shares[p.rank+1]
	if r.model.layers[l].b != nil {
		if p.sums == nil {
			p.sums = make([]float32, len(p.order))
			rowSums(p.sums[first:last], r.p, p.order[first:last])
		}
		r.sums = p.sums
	}
	for rank, rows := range p.sends {
		if n := len(rows) * width; cap(p.packed[rank]) < n {
			p.packed[rank] = memory.Large(n)
		}
		p.packed[rank] = p.packed[rank][:len(rows)*width]
	}
	own := out.From(p.bounds[p.rank] * width)
	err = r.layer(l, h, p.shares, first-p.bounds[p.rank], out, nil, func(lo, n int) { p.pack(own.Host(), lo-first, n, width) })
	if err != nil {
		return h, err
	}
	receive := make([][]float32, p.size)
	for rank := range receive {
		if rank != p.rank {
			receive[rank] = out.Host()[p.bounds[rank]*width : p.bounds[rank+1]*width]
		}
	}
	if err := r.ranks.Exchange(r.ctx, p.packed, receive); err != nil {
		return h, err
	}
	above := plan.Rows{Span: out, Width: width, Count: len(p.rows)}
	if above.Index, err = r.Index(p.rows); err == nil {
		if p.written == nil {
			rows, _, shares := kept.parted(r, l+1)
			p.written = kept.writeOut(rows, shares[p.rank], shares[p.rank+1], p.rows)
		}
		above.Index.Keep(p.written)
	}
	return above, err
}

// pack copies the rows of values that other ranks read, among lo to lo+n. The rows were
// computed a moment ago, so they are in the cache. Calls for other rows may run concurrently.
func (p *rankRows) pack(values []float32, lo, n, width int) {
	for rank, rows := range p.sends {
		at, _ := slices.BinarySearch(rows, lo)
		for to := p.packed[rank][at*width:]; at < len(rows) && rows[at] < lo+n; at++ {
			i := rows[at]
			to = to[copy(to, values[i*width:(i+1)*width]):]
		}
	}
}

// dealer gives each row of a layer to one of several ranks. A rank computes rows that it
// reads where the balance allows it: such rows do not travel, or travel to fewer ranks.
type dealer struct {
	size        int
	first, last []int32 // of the ranks that read a node's row, plus 1; 0: none
}

func newDealer(nodes, size int) *dealer {
	return &dealer{size: size, first: make([]int32, nodes), last: make([]int32, nodes)}
}

// reads notes that a rank reads the row of v. Ranks come in ascending order.
func (d *dealer) reads(rank int, v int32) {
	if d.last[v] = int32(rank) + 1; d.first[v] == 0 {
		d.first[v] = d.last[v]
	}
}

// deal returns the rows, rank after rank, and the shares of the ranks, of about the same
// work. Rows with one reader go to it first, until it has its part of all work. The others,
// in ascending order, go to a reader that has less than its part, or to the next such rank.
func (d *dealer) deal(rows []int32, work func(v int32) float64) (order []int32, shares []int) {
	left, owner := make([]float64, d.size), make([]int32, len(rows))
	for _, v := range rows {
		left[0] += work(v) / float64(d.size)
	}
	for rank := range left {
		left[rank] = left[0]
	}
	shares = make([]int, d.size+1)
	give := func(i, rank int) {
		owner[i] = int32(rank) + 1
		left[rank] -= work(rows[i])
		shares[rank+1]++
	}
	for i, v := range rows {
		if rank := int(d.first[v]) - 1; rank >= 0 && d.first[v] == d.last[v] && left[rank] > 0 {
			give(i, rank)
		}
	}
	next := 0
	for i, v := range rows {
		if owner[i] > 0 {
			continue
		}
		for next < d.size-1 && left[next] <= 0 {
			next++
		}
		rank := next
		for _, reader := range []int32{d.last[v], d.first[v]} {
			if reader > 0 && left[reader-1] > 0 {
				rank = int(reader) - 1
			}
		}
		give(i, rank)
	}
	for rank := range d.size {
		shares[rank+1] += shares[rank]
	}
	at := slices.Clone(shares)
	order = make([]int32, len(rows))
	for i, v := range rows {
		rank := owner[i] - 1
		order[at[rank]] = v
		at[rank]++
	}
	return order, shares
}
