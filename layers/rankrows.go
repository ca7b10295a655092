package layers

import (
	"math/bits"
	"unsafe"

	"github.com/gcn-layerwise/gcn/internal/parallel"
	"github.com/gcn-layerwise/gcn/internal/plan"
)

// rankRows are the rows of a hidden layer that one of several ranks holds: the rows that
// it computes, and the rows of other ranks that its part of the next layer reads. They ascend, so
// each rank's rows are a range of them.
type rankRows struct {
	rank, size int
	rows       []int32     // nodes
	bounds     []int       // rank r's rows are rows[bounds[r]] to rows[bounds[r+1]−1]
	reads      [][]float32 // by rank, the rows of its part that this rank reads: a bit each, in the bytes of float32s
	asked      [][]float32 // by rank, the rows of this rank's part that it reads, in the same form
	packed     [][]float32 // memory of exchange
}

// holdsPart reports whether this rank holds only a part of the output of layer l. This needs
// a next layer that reads it by node, without a product or a norm of all rows before; that this
// rank knows all neighbours of each node; and no jumping knowledge.
func (r *inference) holdsPart(l int, kept *keptRows) bool {
	return r.ranks != nil && !kept.few && !kept.histories && r.p.Share == nil && !r.orders[l+1] && r.model.layers[l+1].pre == nil && !r.model.layers[l].jumps()
}

// partOf returns the rows of layer l that this rank holds. It keeps them.
func (k *keptRows) partOf(r *inference, l int) *rankRows {
	rank, size := r.ranks.Rank(), r.ranks.Size()
	if len(k.parts) != len(k.rows) {
		k.parts = make([]*rankRows, len(k.rows))
	}
	if p := k.parts[l]; p != nil && p.rank == rank && p.size == size {
		return p
	}
	read := make([]bool, r.p.Nodes())
	above := k.rows[l+1]
	first, last := r.share(rank, len(above), r.layerChunk(l+1))
	for _, v := range above[first:last] {
		read[v] = true
		for _, u := range r.p.Adjacency.Row(int(v)) {
			read[u] = true
		}
	}
	p := &rankRows{rank: rank, size: size, bounds: make([]int, size+1), reads: make([][]float32, size), asked: make([][]float32, size), packed: make([][]float32, size)}
	rows, chunk := k.rows[l], r.layerChunk(l)
	lo, hi := r.share(rank, len(rows), chunk)
	for other := range size {
		from, to := r.share(other, len(rows), chunk)
		if other == rank {
			p.rows = append(p.rows, rows[from:to]...)
		} else {
			p.reads[other], p.asked[other] = make([]float32, (to-from+31)/32), make([]float32, (hi-lo+31)/32)
			words := asWords(p.reads[other])
			for i, v := range rows[from:to] {
				if read[v] {
					words[i/32] |= 1 << (i % 32)
					p.rows = append(p.rows, v)
				}
			}
		}
		p.bounds[other+1] = len(p.rows)
	}
	k.parts[l] = p
	return p
}

// layerChunk returns the rows of a chunk of layer l.
func (r *inference) layerChunk(l int) int {
	layer := r.model.layers[l]
	return r.ChunkRows(max(layer.in, layer.out))
}

// exchange fills the rows of a layer's output that this rank reads of the others. It has
// computed its own.
func (r *inference) exchange(p *rankRows, values []float32, width int) error {
	// Ranks keep the rows that they read, but each call asks again: another rank may have
	// dropped its list of these.
	if err := r.ranks.Exchange(r.ctx, p.reads, p.asked); err != nil {
		return err
	}
	own := values[p.bounds[p.rank]*width : p.bounds[p.rank+1]*width]
	receive := make([][]float32, p.size)
	for rank := range receive {
		if rank != p.rank {
			receive[rank] = values[p.bounds[rank]*width : p.bounds[rank+1]*width]
			p.packed[rank] = packRows(p.packed[rank], own, asWords(p.asked[rank]), width)
		}
	}
	return r.ranks.Exchange(r.ctx, p.packed, receive)
}

// packRows returns the rows of values whose bit is set, one after the other, in the memory of
// dst if it suffices.
func packRows(dst, values []float32, words []uint32, width int) []float32 {
	const task = 64 // words
	before := make([]int, (len(words)+task-1)/task+1)
	for k, word := range words {
		before[k/task+1] += bits.OnesCount32(word)
	}
	for k := range before[1:] {
		before[k+1] += before[k]
	}
	n := before[len(before)-1] * width
	if cap(dst) < n {
		dst = make([]float32, n)
	}
	dst = dst[:n]
	parallel.For(len(before)-1, 1, func(lo, hi int) {
		to := dst[before[lo]*width:]
		for k := lo * task; k < min(hi*task, len(words)); k++ {
			for word := words[k]; word != 0; word &= word - 1 {
				i := 32*k + bits.TrailingZeros32(word)
				to = to[copy(to, values[i*width:(i+1)*width]):]
			}
		}
	})
	return dst
}

// asWords returns the memory of values as words of 32 bits.
func asWords(values []float32) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}

// hiddenPart returns the output of layer l at the rows that this rank holds.
func (r *inference) hiddenPart(l int, h plan.Rows, kept *keptRows, name plan.Scratch) (plan.Rows, error) {
	p, width := kept.partOf(r, l), r.model.layers[l].out
	out, err := r.Scratch(name, len(p.rows)*width)
	if err != nil {
		return h, err
	}
	first, _ := r.mine(len(r.rows), r.layerChunk(l))
	if err := r.layer(l, h, first-p.bounds[p.rank], out, nil); err != nil {
		return h, err
	}
	if err := r.exchange(p, out.Host(), width); err != nil {
		return h, err
	}
	above := plan.Rows{Span: out, Width: width, Count: len(p.rows)}
	above.Index, err = r.Index(p.rows)
	return above, err
}
