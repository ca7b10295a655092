package ranks

import (
	"slices"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
)

// share returns the rows of a matrix of the partition's nodes, which are not yet reduced.
func (p *Partition) share() *rows {
	r := &rows{Partition: p, place: slices.Repeat([]int32{-1}, p.Data.Nodes())}
	lo, hi := r.own()
	for v := lo; v < hi; v++ {
		r.place[v] = int32(v - lo)
	}
	return r
}

// of returns r for graph. attach is nil unless features can follow from the matrix.
func (r *rows) of(attach func(*graph.Features)) *graph.Share {
	return &graph.Share{
		Rank:   r.Group.Rank(),
		Bounds: r.bounds,
		Fetch:  r.fetch,
		Gather: r.Group.Gather,
		Attach: attach,
	}
}

// attach reduces x, which is whole or holds the rank's own rows only, to these rows.
func (p *Partition) attach(x *graph.Features) {
	r := p.share()
	whole := x.Len() == x.Rows*x.Cols
	if x.Half != nil {
		hold(r, &x.Half, x.Cols, whole)
	} else {
		hold(r, &x.Data, x.Cols, whole)
	}
	if whole {
		if x.Release != nil {
			x.Release()
		}
		x.Release, x.Prefetch = nil, nil
	}
	x.Place = r.place
	p.whole += int64(r.size(0)) * int64(x.Rows)
	x.Share = r.of(p.attach)
	r.x, p.features = x, append(p.features, r)
}

// hold makes r the rows of values, of the given width. Afterwards values has the rank's own rows
// and then the fetched ones. Before, it has the own rows, or all if whole is true.
func hold[T float32 | uint16](r *rows, values *[]T, width int, whole bool) {
	lo, hi := r.own()
	if whole {
		*values = copyWithRoom((*values)[lo*width : hi*width])
	}
	bytes := width * int(unsafe.Sizeof(*new(T)))
	r.size = func(int32) int { return bytes }
	r.pack = func(dst []byte, row int32) []byte {
		at := (int(row) - lo) * width
		return append(dst, Bytes((*values)[at:at+width])...)
	}
	r.clear = func() { *values = (*values)[:(hi-lo)*width] }
	r.add = func(_ int32, b []byte) { *values = append(*values, as[T](b)...) }
}

// attachGraph reduces the adjacency matrix to this rank's own rows.
func (p *Partition) attachGraph() {
	laplacian := p.Data.Laplacian() // needs the degrees of all nodes
	r := p.share()
	a := p.Data.Graph
	lo, hi := r.own()
	from := a.Ptr[lo]
	to := a.Ptr[hi]
	a.Idx = copyWithRoom(a.Idx[from:to])
	width := 4
	if a.Val != nil {
		a.Val, width = copyWithRoom(a.Val[from:to]), 8
	}
	a.Place, a.Prefetch = r.place, nil
	for _, at := range a.Ptr[lo:hi] {
		a.Starts = append(a.Starts, at-from)
	}
	r.size = func(row int32) int { return width * a.Degree(int(row)) }
	r.pack = func(dst []byte, row int32) []byte {
		dst = append(dst, Bytes(a.Row(int(row)))...)
		return append(dst, Bytes(a.RowValues(int(row)))...)
	}
	r.clear = func() {
		a.Starts, a.Idx = a.Starts[:hi-lo], a.Idx[:to-from]
		if a.Val != nil {
			a.Val = a.Val[:to-from]
		}
	}
	r.add = func(row int32, b []byte) {
		a.Starts = append(a.Starts, int64(len(a.Idx)))
		n := 4 * a.Degree(int(row))
		a.Idx = append(a.Idx, as[int32](b[:n])...)
		a.Val = append(a.Val, as[float32](b[n:])...) // none if the graph has no weights
	}
	p.adjacency, laplacian.Share = r, r.of(nil)
}

// copyWithRoom returns a copy of own values with room for fetched ones. The system gives
// memory to the room when it is used.
func copyWithRoom[T any](own []T) []T {
	values := make([]T, len(own), len(own)+len(own)/16)
	copy(values, own)
	return values
}
