package kernel

import (
	"slices"

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
		s := scratches.Get().(*halfScratch)
		defer scratches.Put(s)
		for ; lo < hi; lo += block {
			end := min(lo+block, hi)
			spmmRows(dst, a, lo, end, nil, a.Cols, x, width)
			s.addControl(dst[lo*width:end*width], c, lo, end, width)
		}
	})
}

// addControl adds rows lo to hi of C·H̄ to dst.
func (s *halfScratch) addControl(dst []float32, c Control, lo, hi, width int) {
	s.sums = slices.Grow(s.sums[:0], len(dst))[:len(dst)]
	m := c.Matrix
	if c.Rows != nil {
		spmmEntries(s.sums, m, m.Ptr[lo:hi], m.Ptr[lo+1:hi+1], false, nil, m.Cols, c.Rows, width)
	} else {
		s.reserve(width)
		for i := lo; i < hi; i++ {
			row := rowOf(s.sums, i-lo, width)
			clear(row)
			s.row.Idx = append(s.row.Idx[:0], m.Row(i)...)
			s.row.Val = append(s.row.Val[:0], m.RowValues(i)...)
			for len(s.row.Val) < len(s.row.Idx) {
				s.row.Val = append(s.row.Val, 1)
			}
			s.add(row, &graph.Features{Half: c.Half, Cols: width}, false)
		}
	}
	axpy(dst, 1, s.sums)
}
