package train

import (
	"context"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
)

// featureShare is the rows of one matrix of features on this rank.
type featureShare struct {
	x        *graph.Features
	own      int // rows that this rank always has; they come first
	exchange rowExchange
	here     []int32 // nodes whose rows were fetched
	rows     []int32 // memory of stage
	asked    []int32 // memory of fetch
	staged   []part
}

// attach reduces x, which is whole or holds the rank's own rows only, to these rows.
func (p *Partition) attach(x *graph.Features) {
	bounds := p.bounds()
	lo, hi := bounds[p.group.Rank()], bounds[p.group.Rank()+1]
	if x.Len() == x.Rows*x.Cols {
		data, half := x.Data, x.Half
		if half != nil {
			x.Half = copyWithRoom(half[lo*x.Cols : hi*x.Cols])
		} else {
			x.Data = copyWithRoom(data[lo*x.Cols : hi*x.Cols])
		}
		if x.Release != nil {
			x.Release()
		}
		x.Release, x.Prefetch = nil, nil
	}
	x.Place = make([]int32, x.Rows)
	for v := range x.Place {
		x.Place[v] = -1
		if v >= lo && v < hi {
			x.Place[v] = int32(v - lo)
		}
	}
	width := 4
	if x.Half != nil {
		width = 2
	}
	p.whole += int64(width) * int64(x.Rows) * int64(x.Cols)
	s := &featureShare{x: x, own: hi - lo}
	s.exchange = rowExchange{
		group: p.group, bounds: bounds,
		size: func(int32) int { return width * x.Cols },
		pack: func(dst []byte, row int32) []byte {
			from, to := (int(row)-lo)*x.Cols, (int(row)-lo+1)*x.Cols
			if x.Half != nil {
				return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(&x.Half[from])), 2*(to-from))...)
			}
			return append(dst, asBytes(x.Data[from:to])...)
		},
	}
	x.Share = &graph.Share{Rank: p.group.Rank(), Bounds: bounds, Fetch: s.fetch, Gather: p.group.Gather, Attach: p.attach}
	p.features = append(p.features, s)
}

// fetch is graph.Share.Fetch.
func (s *featureShare) fetch(ctx context.Context, rows []int32) error {
	s.asked = append(s.asked[:0], rows...)
	parts, err := s.exchange.fetch(ctx, s.exchange.missing(s.asked))
	if err == nil {
		s.install(parts)
	}
	return err
}

// install puts fetched rows behind the own ones, in the place of those fetched before.
func (s *featureShare) install(parts []part) {
	x := s.x
	for _, v := range s.here {
		x.Place[v] = -1
	}
	s.here = s.here[:0]
	if x.Half != nil {
		x.Half = x.Half[:s.own*x.Cols]
	} else {
		x.Data = x.Data[:s.own*x.Cols]
	}
	for _, p := range parts {
		for _, v := range p.ids {
			x.Place[v] = int32(s.own + len(s.here))
			s.here = append(s.here, v)
		}
		if x.Half == nil {
			x.Data = append(x.Data, p.values...)
		} else if n := len(p.ids) * x.Cols; n > 0 {
			x.Half = append(x.Half, unsafe.Slice((*uint16)(unsafe.Pointer(&p.values[0])), n)...)
		}
	}
}
