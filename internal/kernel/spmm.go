package kernel

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/gonum"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/parallel"
)

// SpMM computes dst = A·X for a sparse A and a dense X of a.Cols rows. A row of
// A without entries gives a row of zeros; nil a.Val means that every value is
// 1. The sum of a row runs in the order of its entries, in float32.
//
// Cost: 2·nnz·width operations; with X in cache it is bound by them, else by
// the nnz·width·4 bytes of X that are read.
func SpMM(dst []float32, a *graph.CSR, x []float32, width int) {
	checkLen("SpMM", "dst", len(dst), a.Rows*width)
	checkLen("SpMM", "x", len(x), a.Cols*width)
	spmm(dst, a, nil, a.Cols, x, width)
}

// SpMMGather computes dst = A·X[ids], where column k of A belongs to row ids[k]
// of X, without building X[ids]. Otherwise it is SpMM.
func SpMMGather(dst []float32, a *graph.CSR, ids []int32, x []float32, width int) {
	checkLen("SpMMGather", "dst", len(dst), a.Rows*width)
	checkLen("SpMMGather", "ids", len(ids), a.Cols)
	rows := len(x) / max(width, 1)
	checkIDs("SpMMGather", ids[:a.Cols], rows)
	spmm(dst, a, ids[:a.Cols], rows, x, width)
}

// spmm spreads the rows of A over the cores. ids may be nil; xRows is the
// number of rows of x.
func spmm(dst []float32, a *graph.CSR, ids []int32, xRows int, x []float32, width int) {
	if a.Rows == 0 || width == 0 {
		return
	}
	// A multiply-add of a row in cache costs a quarter of an element streamed.
	entries := a.NNZ() / int64(a.Rows)
	g := grain(width * int(4+entries) / 4)
	if ids == nil {
		g = max(g, SegmentedRows(a.Rows, entries, xRows, width))
	}
	if a.Rows <= g {
		spmmRows(dst, a, 0, a.Rows, ids, xRows, x, width)
		return
	}
	parallel.For(a.Rows, g, func(lo, hi int) {
		spmmRows(dst, a, lo, hi, ids, xRows, x, width)
	})
}

// spmmRows computes rows lo to hi of dst = A·X, or of A·X[ids], on one core.
func spmmRows(dst []float32, a *graph.CSR, lo, hi int, ids []int32, xRows int, x []float32, width int) {
	dst = dst[lo*width : hi*width]
	from, to := a.Ptr[lo:hi], a.Ptr[lo+1:hi+1]
	if ids != nil || !segmented(hi-lo, a.Ptr[hi]-a.Ptr[lo], xRows, width) || !ascends(a, lo, hi) {
		spmmEntries(dst, a, from, to, false, ids, xRows, x, width)
		return
	}
	s := segments.Get().(*segment)
	defer segments.Put(s)
	s.begin(a, from, to)
	for more := true; more; more = s.next(a, to, segmentBytes/4/width) {
		spmmEntries(dst, a, s.from, s.to, s.add, nil, xRows, x, width)
	}
}

// spmmEntriesGo is the portable form of spmmEntries.
func spmmEntriesGo(dst []float32, a *graph.CSR, from, to []int64, add bool, ids []int32, x []float32, width int) {
	indices, x := slices.Clip(a.Idx), slices.Clip(x) // so that what is outside panics
	for i := range from {
		y := rowOf(dst, i, width)
		if !add {
			clear(y)
		}
		for k, j := range indices[from[i]:to[i]] {
			v := float32(1)
			if a.Val != nil {
				v = a.Val[from[i]+int64(k)]
			}
			r := int(j)
			if ids != nil {
				r = int(ids[j])
			}
			axpy(y, v, rowOf(x, r, width))
		}
	}
}

func axpy(y []float32, alpha float32, x []float32) {
	gonum.Implementation{}.Saxpy(len(y), alpha, x, 1, y, 1)
}

// checkIDs panics unless every id is a row of a matrix of the given size.
func checkIDs(function string, ids []int32, rows int) {
	for k, id := range ids {
		if id < 0 || int(id) >= rows {
			panic(fmt.Sprintf("kernel: %s: id %d is %d, outside [0, %d)", function, k, id, rows))
		}
	}
}
