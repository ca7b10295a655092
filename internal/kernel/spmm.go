package kernel

import (
	"fmt"

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
	rows := 0
	if width > 0 {
		rows = len(x) / width
	}
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
	g := grain(width * int(4+a.NNZ()/int64(a.Rows)) / 4)
	if a.Rows <= g {
		spmmRows(dst, a, 0, a.Rows, ids, xRows, x, width)
		return
	}
	parallel.For(a.Rows, g, func(lo, hi int) {
		spmmRows(dst, a, lo, hi, ids, xRows, x, width)
	})
}

// spmmRowsGo is the portable form of spmmRows.
func spmmRowsGo(dst []float32, a *graph.CSR, lo, hi int, ids []int32, x []float32, width int) {
	for i := lo; i < hi; i++ {
		y := dst[i*width : (i+1)*width]
		clear(y)
		values := a.RowValues(i)
		for k, j := range a.Row(i) {
			v := float32(1)
			if values != nil {
				v = values[k]
			}
			r := int(j)
			if ids != nil {
				r = int(ids[j])
			}
			axpy(y, v, x[r*width:(r+1)*width])
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
