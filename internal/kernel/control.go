package kernel

import (
	"sync"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// Control is a second product that SpMMControl adds: Matrix times the rows of a history.
type Control struct {
	Matrix *graph.CSR
	Rows   []float32 // Matrix.Cols rows
	Half   []uint16  // the same in half precision, if Rows is nil
}

// SpMMControl computes dst = A·X + C·H̄ in one pass over the rows, for a control with as
// many rows as A. A row's two products are summed apart and then added. A history in half
// precision gives the bits of the widened one.
//
// Cost: as two calls of SpMM, but dst is written once and stays in a core's cache.
func SpMMControl(dst []float32, a *graph.CSR, x []float32, c Control, width int) {
	checkLen("SpMMControl", "dst", len(dst), a.Rows*width)
	checkLen("SpMMControl", "x", len(x), a.Cols*width)
	checkLens("SpMMControl", c.Matrix.Cols*width, c.Rows)
	checkLens("SpMMControl", c.Matrix.Cols*width, c.Half)
	if a.Rows == 0 || width == 0 {
		return
	}
	entries := (a.NNZ() + c.Matrix.NNZ()) / int64(a.Rows)
	parallel.For(a.Rows, grain(width*int(4+entries)/4), func(lo, hi int) {
		const block = 16 // rows whose two products stay in a first-level cache
		s := controls.Get().(*controlScratch)
		defer controls.Put(s)
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			spmmRows(dst, a, lo, end, nil, a.Cols, x, width)
			s.add(dst[lo*width:end*width], c, lo, end, width)
		}
	})
}

var controls = sync.Pool{New: func() any { return new(controlScratch) }}

type controlScratch struct {
	sums []float32
	part graph.CSR // the rows at work
	half halfScratch
}

// add adds rows lo to hi of C·H̄ to dst.
func (s *controlScratch) add(dst []float32, c Control, lo, hi, width int) {
	if len(s.sums) < len(dst) {
		s.sums = make([]float32, len(dst))
	}
	sums, m := s.sums[:len(dst)], c.Matrix
	if c.Rows != nil {
		s.part = graph.CSR{Rows: hi - lo, Cols: m.Cols, Ptr: m.Ptr[lo : hi+1], Idx: m.Idx, Val: m.Val}
		spmmRows(sums, &s.part, 0, hi-lo, nil, m.Cols, c.Rows, width)
		s.part = graph.CSR{}
	} else {
		s.half.reserve(width)
		for i := lo; i < hi; i++ {
			row := sums[(i-lo)*width:][:width]
			clear(row)
			s.half.row.Idx = append(s.half.row.Idx[:0], m.Row(i)...)
			s.half.row.Val = append(s.half.row.Val[:0], m.RowValues(i)...)
			for len(s.half.row.Val) < len(s.half.row.Idx) {
				s.half.row.Val = append(s.half.row.Val, 1)
			}
			s.half.multiply(row, c.Half, width)
		}
	}
	axpy(dst, 1, sums)
}
