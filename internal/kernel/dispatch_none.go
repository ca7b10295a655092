//go:build !amd64 || noasm

package kernel

import (
	"unsafe"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

// level is which assembly runs: none.
var level = simd.Portable

func prefetch(x unsafe.Pointer, size uintptr, n int, ids []int32) { touch(x, size, n, ids) }

func prefetchSlice(x unsafe.Pointer, bytes uintptr) { touchSlice(x, bytes) }

func spmmEntries(dst []float32, a *graph.CSR, from, to []int64, add bool, ids []int32, _ int, x []float32, width int) {
	spmmEntriesGo(dst, a, from, to, add, ids, x, width)
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

func columnTotals(dst []float64, x []float32, rows, width int) {
	columnTotalsGo(dst, x, rows, width, 0)
}

func columnSquares(dst []float64, x []float32, center []float64, rows, width int) {
	columnSquaresGo(dst, x, center, rows, width, 0)
}

func columnProducts(dst []float64, a, b []float32, rows, width int) {
	columnProductsGo(dst, a, b, rows, width, 0)
}

func columnDots(sums, dots []float64, g, x []float32, rows, width int) {
	columnDotsGo(sums, dots, g, x, rows, width, 0)
}

func normalizeRow(y, kept, x, gain, shift []float32, mean, factor float64) {
	normalizeRowGo(y, kept, x, gain, shift, mean, factor, 0)
}

func normalizeColumns(y, kept, x, gain, shift []float32, mean, factor []float64) {
	normalizeColumnsGo(y, kept, x, gain, shift, mean, factor, 0)
}

func batchNormBack(d, g, x []float32, factor, mean, dot []float64, rows float64) {
	batchNormBackGo(d, g, x, factor, mean, dot, rows, 0)
}

func layerNormBack(d, g, x, gain []float32, inverse, sum, along float64) {
	layerNormBackGo(d, g, x, gain, inverse, sum, along, 0)
}
