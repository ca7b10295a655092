package ranks

import (
	"github.com/gcn-layerwise/gcn/graph"
)

// share returns the rows of a matrix of the partition's nodes, which are not yet reduced.
func (p *Partition) share() *rows {
	r := &rows{group: p.Group, bounds: p.bounds, place: make([]int32, p.Data.Nodes())}
	for v := range r.place {
		r.place[v] = -1
	}
	return r
}

// of returns r for graph. attach is nil unless features can follow from the matrix.
func (r *rows) of(attach func(*graph.Features)) *graph.Share {
	return &graph.Share{Rank: r.group.Rank(), Bounds: r.bounds, Fetch: r.fetch, Gather: r.group.Gather, Attach: attach}
}

// attach reduces x, which is whole or holds the rank's own rows only, to these rows.
func (p *Partition) attach(x *graph.Features) {
	r := p.share()
	lo, hi := r.own()
	if x.Len() == x.Rows*x.Cols {
		if x.Half != nil {
			x.Half = copyWithRoom(x.Half[lo*x.Cols : hi*x.Cols])
		} else {
			x.Data = copyWithRoom(x.Data[lo*x.Cols : hi*x.Cols])
		}
		if x.Release != nil {
			x.Release()
		}
		x.Release, x.Prefetch = nil, nil
	}
	for v := lo; v < hi; v++ {
		r.place[v] = int32(v - lo)
	}
	r.first, x.Place = int32(hi-lo), r.place
	width := 4
	if x.Half != nil {
		width = 2
	}
	p.whole += int64(width) * int64(x.Rows) * int64(x.Cols)
	r.size = func(int32) int { return width * x.Cols }
	r.pack = func(dst []byte, row int32) []byte {
		from, to := (int(row)-lo)*x.Cols, (int(row)-lo+1)*x.Cols
		if x.Half != nil {
			return append(dst, Bytes(x.Half[from:to])...)
		}
		return append(dst, Bytes(x.Data[from:to])...)
	}
	r.clear = func() {
		if x.Half != nil {
			x.Half = x.Half[:(hi-lo)*x.Cols]
		} else {
			x.Data = x.Data[:(hi-lo)*x.Cols]
		}
	}
	r.add = func(_ int32, b []byte) {
		if x.Half != nil {
			x.Half = append(x.Half, as[uint16](b)...)
		} else {
			x.Data = append(x.Data, as[float32](b)...)
		}
	}
	x.Share = r.of(p.attach)
	p.features = append(p.features, sharedFeatures{x, r})
}

// attachGraph reduces the adjacency matrix to this rank's own rows.
func (p *Partition) attachGraph() {
	laplacian := p.Data.Laplacian() // needs the degrees of all nodes
	r, a := p.share(), p.Data.Graph
	lo, hi := r.own()
	from, to := a.Ptr[lo], a.Ptr[hi]
	a.Idx = copyWithRoom(a.Idx[from:to])
	width := 4
	if a.Val != nil {
		a.Val, width = copyWithRoom(a.Val[from:to]), 8
	}
	a.Prefetch = nil
	a.Rest = &graph.SharedRows{Lo: lo, Hi: hi, Place: r.place}
	r.size = func(row int32) int { return width * a.Degree(int(row)) }
	r.pack = func(dst []byte, row int32) []byte {
		dst = append(dst, Bytes(a.Row(int(row)))...)
		return append(dst, Bytes(a.RowValues(int(row)))...)
	}
	r.clear = func() {
		a.Rest.Fetched, a.Idx = a.Rest.Fetched[:0], a.Idx[:to-from]
		if a.Val != nil {
			a.Val = a.Val[:to-from]
		}
	}
	r.add = func(row int32, b []byte) {
		a.Rest.Fetched = append(a.Rest.Fetched, int64(len(a.Idx)))
		n := 4 * a.Degree(int(row))
		a.Idx = append(a.Idx, as[int32](b[:n])...)
		if a.Val != nil {
			a.Val = append(a.Val, as[float32](b[n:])...)
		}
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
