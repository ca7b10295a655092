//go:build !amd64 || noasm

package kernel

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

// level is which assembly runs: none.
var level = simd.Portable

func spmmRows(dst []float32, a *graph.CSR, lo, hi int, ids []int32, xRows int, x []float32, width int) {
	spmmRowsGo(dst, a, lo, hi, ids, x, width)
}
