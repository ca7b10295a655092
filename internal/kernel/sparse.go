package kernel

import (
	"sync"
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// gatherSparse is GatherFeatures of sparse features.
func gatherSparse(dst []float32, m *graph.CSR, ids []int32) {
	width := m.Cols
	checkLen("Gather", "dst", len(dst), len(ids)*width)
	checkIDs("Gather", ids, m.Rows)
	parallel.For(len(ids), grain(width), func(lo, hi int) {
		clear(dst[lo*width : hi*width])
		for i := lo; i < hi; i++ {
			addRow(rowOf(dst, i, width), 1, m, int(ids[i]))
		}
	})
}

// addRow adds v times row i of m to y.
func addRow(y []float32, v float32, m *graph.CSR, i int) {
	columns, values := m.Row(i), m.RowValues(i)
	if values == nil {
		for _, j := range columns {
			y[j] += v
		}
		return
	}
	for k, j := range columns {
		y[j] += v * values[k]
	}
}

// SelectRows sets dst to the rows ids of m, in the memory of dst.
func SelectRows(dst, m *graph.CSR, ids []int32) {
	checkIDs("SelectRows", ids, m.Rows)
	dst.Rows, dst.Cols = len(ids), m.Cols
	dst.Ptr, dst.Idx, dst.Val = append(dst.Ptr[:0], 0), dst.Idx[:0], dst.Val[:0]
	for _, i := range ids {
		dst.Idx = append(dst.Idx, m.Row(int(i))...)
		dst.Val = append(dst.Val, m.RowValues(int(i))...)
		dst.Ptr = append(dst.Ptr, int64(len(dst.Idx)))
	}
	if m.Val == nil {
		dst.Val = nil
	}
}

// WithoutZeros sets dst to the values of x, rows×cols, that are not 0, in the memory of dst.
func WithoutZeros(dst *graph.CSR, x []float32, rows, cols int) {
	checkLen("WithoutZeros", "x", len(x), rows*cols)
	ptr, idx, val := append(dst.Ptr[:0], 0), dst.Idx[:0], dst.Val[:0]
	for ; len(x) > 0; x = x[cols:] {
		for j := 0; j < cols; j++ {
			const group = 8 // most groups of values are 0
			if j+group <= cols && *(*[group / 2]uint64)(unsafe.Pointer(&x[j])) == ([group / 2]uint64{}) {
				j += group - 1
			} else if v := x[j]; v != 0 {
				idx, val = append(idx, int32(j)), append(val, v)
			}
		}
		ptr = append(ptr, int64(len(idx)))
	}
	dst.Rows, dst.Cols, dst.Ptr, dst.Idx, dst.Val = rows, cols, ptr, idx, val
}

// SpMMSparse computes dst = A·X[ids] for a sparse X and a dense dst. Column k of A belongs
// to row ids[k] of X, or to row k if ids is nil. Cost: the entries
// of X at the entries of A, and one pass over dst.
func SpMMSparse(dst []float32, a *graph.CSR, ids []int32, x *graph.CSR) {
	width := x.Cols
	checkLen("SpMMSparse", "dst", len(dst), a.Rows*width)
	checkGathered("SpMMSparse", a, ids, x)
	parallel.For(a.Rows, grain(width), func(lo, hi int) {
		clear(dst[lo*width : hi*width])
		for i := lo; i < hi; i++ {
			y := rowOf(dst, i, width)
			eachEntry(a, ids, i, func(row int, v float32) { addRow(y, v, x, row) })
		}
	})
}

// eachEntry calls f with the row of X and the value of each entry in row i of A.
func eachEntry(a *graph.CSR, ids []int32, i int, f func(row int, v float32)) {
	values := a.RowValues(i)
	for k, j := range a.Row(i) {
		if ids != nil {
			j = ids[j]
		}
		f(int(j), float32(graph.Weight(values, k)))
	}
}

// checkGathered panics unless every column of A has a row of X.
func checkGathered(function string, a *graph.CSR, ids []int32, x *graph.CSR) {
	if ids == nil {
		checkLen(function, "x", x.Rows, a.Cols)
		return
	}
	checkLen(function, "ids", len(ids), a.Cols)
	checkIDs(function, ids[:a.Cols], x.Rows)
}

// Crowded reports whether A·X for sparse X, with the given rows and entries of A, may fill
// more than a quarter of its values: the bound is reached if no two terms have the same place.
// A dense product is then better. A sparse one takes four times the memory of a value for
// each entry, and multiplies slower.
func Crowded(rows int, entries int64, x *graph.CSR) bool {
	terms := float64(entries) * float64(x.NNZ()) / float64(max(x.Rows, 1))
	return terms > float64(rows)*float64(x.Cols)/4
}

// SparseProduct computes A·X[ids] for sparse A and X (Gustavson, ACM TOMS 4, 1978). It is
// its scratch memory, for one goroutine. The zero value is ready to use.
type SparseProduct struct {
	parts []productPart
}

// productPart is the rows that one call computes.
type productPart struct {
	ends []int64 // of each row in idx and val
	idx  []int32
	val  []float32
}

// places pools the place of each column in the row at work, all 0 between two rows.
var places = sync.Pool{New: func() any { return new([]int32) }}

// productRows is the number of rows that a core computes at a time.
const productRows = 64

// Multiply sets dst to A·X[ids], in the memory of dst. The arguments are as in SpMMSparse.
// The columns of a row of dst are in the order of their first terms, and the value of each
// is summed in the order of A's entries. Cost: the entries of X at the entries of A.
func (s *SparseProduct) Multiply(dst, a *graph.CSR, ids []int32, x *graph.CSR) {
	checkGathered("SparseProduct", a, ids, x)
	chunks := (a.Rows + productRows - 1) / productRows
	for len(s.parts) < chunks {
		s.parts = append(s.parts, productPart{})
	}
	parallel.For(chunks, 1, func(lo, hi int) {
		for c := lo; c < hi; c++ {
			s.parts[c].multiply(a, c*productRows, min((c+1)*productRows, a.Rows), ids, x)
		}
	})
	dst.Rows, dst.Cols = a.Rows, x.Cols
	dst.Ptr, dst.Idx, dst.Val = append(dst.Ptr[:0], 0), dst.Idx[:0], dst.Val[:0]
	for _, p := range s.parts[:chunks] {
		before := int64(len(dst.Idx))
		for _, end := range p.ends {
			dst.Ptr = append(dst.Ptr, before+end)
		}
		dst.Idx, dst.Val = append(dst.Idx, p.idx...), append(dst.Val, p.val...)
	}
}

// multiply computes rows lo to hi of A·X[ids].
func (p *productPart) multiply(a *graph.CSR, lo, hi int, ids []int32, x *graph.CSR) {
	pooled := places.Get().(*[]int32)
	defer places.Put(pooled)
	if len(*pooled) < x.Cols {
		*pooled = make([]int32, x.Cols)
	}
	place := *pooled // 1 + the column's index in val
	p.ends, p.idx, p.val = p.ends[:0], p.idx[:0], p.val[:0]
	for i := lo; i < hi; i++ {
		first := len(p.idx)
		eachEntry(a, ids, i, func(row int, v float32) {
			values := x.RowValues(row)
			for k, j := range x.Row(row) {
				term := v
				if values != nil {
					term *= values[k]
				}
				if at := place[j]; at > 0 {
					p.val[at-1] += term
					continue
				}
				p.idx, p.val = append(p.idx, j), append(p.val, term)
				place[j] = int32(len(p.idx))
			}
		})
		for _, j := range p.idx[first:] {
			place[j] = 0
		}
		p.ends = append(p.ends, int64(len(p.idx)))
	}
}

// PropagateRowsSparse is PropagateRows for sparse X and a dense dst.
func PropagateRowsSparse(dst []float32, p *graph.Laplacian, rows []int32, x *graph.CSR) {
	width := x.Cols
	checkLen("PropagateRowsSparse", "dst", len(dst), len(rows)*width)
	parallel.For(len(rows), grain(width), func(lo, hi int) {
		m := written.Get().(*graph.CSR)
		defer written.Put(m)
		Rows(m, p, rows[lo:hi], nil)
		SpMMSparse(dst[lo*width:hi*width], m, nil, x)
	})
}

// SpMMBias sets dst to A·X + scale⊗bias: SpMM, and a bias added to each row. A nil bias is
// 0, a nil scale 1.
func SpMMBias(dst []float32, a *graph.CSR, x []float32, width int, bias, scale []float32) {
	SpMM(dst, a, x, width)
	if bias == nil {
		return
	}
	bias = bias[:width]
	parallel.For(a.Rows, grain(width), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			s := float32(1)
			if scale != nil {
				s = scale[i]
			}
			y := rowOf(dst, i, width)
			for j, b := range bias {
				y[j] += s * b
			}
		}
	})
}
