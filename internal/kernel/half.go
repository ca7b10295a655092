package kernel

import (
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/half"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// widenGo is the portable form of widen.
func widenGo(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	for k, h := range src {
		dst[k] = half.Float32(h)
	}
}

// PropagateRowsHalf is PropagateRows of an x in half precision that holds all
// nodes. The result has the bits of PropagateRows of the widened x.
// Scratch: some 64 KB for each core.
func PropagateRowsHalf(dst []float32, p *graph.Laplacian, rows []int32, x []uint16, width int) {
	rows = OrAll(rows, p)
	n := len(rows)
	checkLen("PropagateRowsHalf", "dst", len(dst), n*width)
	if n == 0 || width == 0 {
		return
	}
	features := &graph.Features{Half: x, Cols: width}
	withScratch(n, grain(width*int(4+p.Adjacency.NNZ()/int64(p.Nodes()))/2), width, func(s *halfScratch, i int) {
		Rows(&s.row, p, rows[i:i+1], nil)
		s.add(rowOf(dst, i, width), features, false)
	})
}

// withScratch calls body for rows 0 … n−1 of the given width on all cores.
func withScratch(n, grain, width int, body func(s *halfScratch, i int)) {
	parallel.For(n, grain, func(lo, hi int) {
		s := scratches.Get().(*halfScratch)
		defer scratches.Put(s)
		s.reserve(width)
		for i := lo; i < hi; i++ {
			body(s, i)
		}
	})
}

// halfScratch is the memory of a goroutine that works row by row.
type halfScratch struct {
	row  graph.CSR // the row of P
	wide []float32 // some rows of x
	part graph.CSR // a row over those
	tell []int32   // 0, 1, 2, …
	sums []float32 // of the rows of a Control
}

var scratches = sync.Pool{New: func() any { return new(halfScratch) }}

// reserve makes room for at least two rows of the given width.
func (s *halfScratch) reserve(width int) {
	const elements = 1 << 14
	rows := max(2, elements/width)
	if len(s.wide) < rows*width {
		s.wide = make([]float32, rows*width)
	}
	for k := len(s.tell); k < rows; k++ {
		s.tell = append(s.tell, int32(k))
	}
	s.part.Rows, s.part.Cols = 1, rows
}

// add sets y to the row times x, or if more is true adds it to y, as many entries at a time
// as there is room for. Whenever y holds a sum already, the first entry is this sum, with
// value 1. x is dense.
func (s *halfScratch) add(y []float32, x *graph.Features, more bool) {
	entries, values, width := s.row.Idx, s.row.Val, x.Cols
	for done := 0; done < len(entries); {
		s.part.Val = s.part.Val[:0]
		if more || done > 0 {
			copy(s.wide[:width], y)
			s.part.Val = append(s.part.Val, 1)
		}
		if x.Half != nil {
			for _, r := range entries[done:min(done+s.part.Cols, len(entries))] {
				PrefetchSlice(rowOf(x.Half, int(r), width))
			}
		}
		for len(s.part.Val) < s.part.Cols && done < len(entries) {
			at, r := len(s.part.Val)*width, int(entries[done])*width
			if x.Half != nil {
				widen(s.wide[at:at+width], x.Half[r:r+width])
			} else {
				copy(s.wide[at:at+width], x.Data[r:r+width])
			}
			s.part.Val = append(s.part.Val, values[done])
			done++
		}
		n := len(s.part.Val)
		s.part.Ptr, s.part.Idx = append(s.part.Ptr[:0], 0, int64(n)), s.tell[:n]
		spmmRows(y, &s.part, 0, 1, nil, n, s.wide, width)
	}
}
