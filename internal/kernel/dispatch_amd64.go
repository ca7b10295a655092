//go:build amd64 && !noasm

package kernel

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

//go:generate sh -c "cd _generate && go run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg kernel"

// level is which assembly runs. Only tests change it.
var level = simd.Available()

// one is what the values of a matrix without values point to.
var one = [1]float32{1}

// spmmRows computes rows lo to hi of dst = A·X, or of A·X[ids].
func spmmRows(dst []float32, a *graph.CSR, lo, hi int, ids []int32, xRows int, x []float32, width int) {
	if level == simd.Portable || len(a.Idx) == 0 || len(x) == 0 {
		spmmRowsGo(dst, a, lo, hi, ids, x, width)
		return
	}
	y := dst[lo*width : hi*width]
	ptr := a.Ptr[lo : hi+1]
	val, step := &one[0], 0
	if a.Val != nil {
		val, step = &a.Val[:len(a.Idx)][0], 4
	}
	var ok bool
	switch {
	case ids == nil && level == simd.AVX512:
		ok = spmmAVX512(&y[0], &ptr[0], hi-lo, &a.Idx[0], len(a.Idx), val, step, &x[0], xRows, width)
	case ids == nil:
		ok = spmmAVX2(&y[0], &ptr[0], hi-lo, &a.Idx[0], len(a.Idx), val, step, &x[0], xRows, width)
	case level == simd.AVX512:
		ok = spmmGatherAVX512(&y[0], &ptr[0], hi-lo, &a.Idx[0], len(a.Idx), val, step, &ids[0], &x[0], len(ids), width)
	default:
		ok = spmmGatherAVX2(&y[0], &ptr[0], hi-lo, &a.Idx[0], len(a.Idx), val, step, &ids[0], &x[0], len(ids), width)
	}
	if !ok {
		panic(fmt.Sprintf("kernel: SpMM: rows %d to %d of the %d×%d matrix hold an offset or a column outside it", lo, hi, a.Rows, a.Cols))
	}
}
