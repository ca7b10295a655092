//go:build !amd64 || noasm

package kernel

import (
	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

// level is which assembly runs: none.
var level = simd.Portable

func spmmRows(dst []float32, a *graph.CSR, lo, hi int, ids []int32, _ int, x []float32, width int) {
	spmmRowsGo(dst, a, lo, hi, ids, x, width)
}

func activateRow(act Activation, dst, slope, z []float32, threshold uint32, kept, dropped float32, key uint64) {
	activateRowGo(act, dst, slope, z, threshold, kept, dropped, key)
}

func softmaxRow(p, z []float32) (top, total float32) { return softmaxRowGo(p, z) }

func expAbs(dst, x []float32) { expAbsGo(dst, x) }

func bceGradient(dst, x, t []float32, share float32) { bceGradientGo(dst, x, t, share) }

func multiply(dst, a, b []float32) { multiplyGo(dst, a, b) }

func timesZero(x []float32) float32 { return timesZeroGo(x) }

func squareRoot(x []float64) { squareRootGo(x) }

func scaleTo(dst []float32, alpha float32, x []float32) { scaleToGo(dst, alpha, x) }

func widen(dst []float32, src []uint16) { widenGo(dst, src) }

func (s *adamStep) update(p, g, m, v []float32) { s.updateGo(p, g, m, v) }

func columnSums(dst, x, scale []float32, stride, rows, width, j0, end int) {
	columnSumsGo(dst, x, scale, stride, rows, width, j0, end)
}

func headDots(dst, x, y []float32, width int) { headDotsGo(dst, x, y, width) }

func headSum(y, c []float32, scale float32, x []float32, width int) {
	headSumGo(y, c, scale, x, width)
}
