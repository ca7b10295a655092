package train

import (
	"context"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
)

// adjacencyShare is the rows of the adjacency matrix on this rank.
type adjacencyShare struct {
	a        *graph.CSR
	entries  int // of the own rows; they come first
	exchange rowExchange
	here     []int32 // nodes whose rows were fetched
	asked    []int32 // memory of fetch
}

// attachGraph reduces the adjacency matrix to this rank's own rows.
func (p *Partition) attachGraph() {
	laplacian := p.data.Laplacian() // needs the degrees of all nodes
	bounds, a := p.bounds(), p.data.Graph
	lo, hi := bounds[p.group.Rank()], bounds[p.group.Rank()+1]
	from, to := a.Ptr[lo], a.Ptr[hi]
	a.Idx = copyWithRoom(a.Idx[from:to])
	if a.Val != nil {
		a.Val = copyWithRoom(a.Val[from:to])
	}
	a.Prefetch = nil
	a.Rest = &graph.SharedRows{Lo: lo, Hi: hi, Place: make([]int32, a.Rows)}
	for v := range a.Rest.Place {
		a.Rest.Place[v] = -1
	}
	s := &adjacencyShare{a: a, entries: int(to - from)}
	width := 4
	if a.Val != nil {
		width = 8
	}
	s.exchange = rowExchange{
		group: p.group, bounds: bounds,
		size: func(row int32) int { return width * a.Degree(int(row)) },
		pack: func(dst []byte, row int32) []byte {
			dst = append(dst, asBytes(asFloats(a.Row(int(row))))...)
			return append(dst, asBytes(a.RowValues(int(row)))...)
		},
	}
	p.adjacency = s
	laplacian.Share = &graph.Share{Rank: p.group.Rank(), Bounds: bounds, Fetch: s.fetch, Gather: p.group.Gather}
}

// fetch is graph.Share.Fetch.
func (s *adjacencyShare) fetch(ctx context.Context, rows []int32) error {
	s.asked = append(s.asked[:0], rows...)
	parts, err := s.exchange.fetch(ctx, s.exchange.missing(s.asked))
	if err != nil {
		return err
	}
	a := s.a
	for _, v := range s.here {
		a.Rest.Place[v] = -1
	}
	s.here, a.Rest.Fetched, a.Idx = s.here[:0], a.Rest.Fetched[:0], a.Idx[:s.entries]
	if a.Val != nil {
		a.Val = a.Val[:s.entries]
	}
	for _, p := range parts {
		values := p.values
		for _, v := range p.ids {
			a.Rest.Place[v] = int32(len(s.here))
			a.Rest.Fetched = append(a.Rest.Fetched, int64(len(a.Idx)))
			s.here = append(s.here, v)
			n := a.Degree(int(v))
			a.Idx = append(a.Idx, asIDs(values[:n])...)
			values = values[n:]
			if a.Val != nil {
				a.Val = append(a.Val, values[:n]...)
				values = values[n:]
			}
		}
	}
	return nil
}

// asIDs is the inverse of asFloats.
func asIDs(values []float32) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(values))), len(values))
}
