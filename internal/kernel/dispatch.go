package kernel

import (
	"fmt"
	"math"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/simd"
)

//go:generate sh -c "cd _generate && go run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg kernel -levels ../levels.go -none ../kernel_none.go"

// level is which assembly runs. Only tests change it. The generator writes, for each pair of
// functions of the two levels, one with the suffix SIMD that calls the right one. The loops over
// heads call theirs themselves: a call is a part of their time.
var level = simd.Available()

// lanes is how many elements most flat assembly loops need a multiple of.
const lanes = 16

// whole returns the number of elements, a multiple of group, that the assembly takes of
// n. The rest is left to the portable code.
func whole(n, group int) int {
	if level == simd.Portable {
		return 0
	}
	return n / group * group
}

// one stands for the values of a matrix without values, and for absent scales.
var one = [1]float32{1}

// SpMM prefetches rows of a large X of at least this width: the processor looks far enough
// ahead over shorter ones. The result is the same either way.
const farWidth = 16

// spmmEntries computes dst = A·X, or A·X[ids], from the entries from[i] to to[i]−1 of A for
// row i of dst. With add, it adds them to dst.
func spmmEntries(dst []float32, a *graph.CSR, from, to []int64, add bool, ids []int32, xRows int, x []float32, width int) {
	if level == simd.Portable || len(a.Idx) == 0 || len(x) == 0 {
		spmmEntriesGo(dst, a, from, to, add, ids, x, width)
		return
	}
	rows := len(from)
	y, to := dst[:rows*width], to[:rows]
	val, step, more := &one[0], 0, 0
	if a.Val != nil {
		val, step = &a.Val[:len(a.Idx)][0], 4
	}
	if add {
		more = 1
	}
	far := xRows*width > farValues && width >= farWidth
	var ok bool
	switch {
	case ids == nil && far:
		ok = spmmFarSIMD(&y[0], &from[0], &to[0], more, rows, &a.Idx[0], len(a.Idx), val, step, &x[0], xRows, width)
	case ids == nil:
		ok = spmmSIMD(&y[0], &from[0], &to[0], more, rows, &a.Idx[0], len(a.Idx), val, step, &x[0], xRows, width)
	case far:
		ok = spmmGatherFarSIMD(&y[0], &from[0], &to[0], more, rows, &a.Idx[0], len(a.Idx), val, step, &ids[0], &x[0], len(ids), width)
	default:
		ok = spmmGatherSIMD(&y[0], &from[0], &to[0], more, rows, &a.Idx[0], len(a.Idx), val, step, &ids[0], &x[0], len(ids), width)
	}
	if !ok {
		panic(fmt.Sprintf("kernel: SpMM: among %d rows of the %d×%d matrix an offset or a column is outside it", rows, a.Rows, a.Cols))
	}
}

// maskGroup is how many columns the assembly of Activate takes at a time.
const maskGroup = 32

// activateRow computes one row of Activate, or many rows as one if nothing is
// dropped. A last part of less than 32 elements goes through a padded copy.
func activateRow(act Activation, dst, slope, z []float32, threshold uint32, kept, dropped float32, key uint64) {
	if level == simd.Portable {
		activateRowGo(act, dst, slope, z, threshold, kept, dropped, key)
		return
	}
	n := len(z)
	dst = dst[:n]
	if slope != nil {
		slope = slope[:n]
	}
	whole := n / maskGroup
	if whole > 0 {
		activateGroups(act, dst, slope, z, whole, threshold, kept, dropped, key, 0)
	}
	rest := whole * maskGroup
	if rest == n {
		return
	}
	var zs, ys, ss [maskGroup]float32
	copy(zs[:], z[rest:])
	activateGroups(act, ys[:], ss[:], zs[:], 1, threshold, kept, dropped, key, uint32(rest/2))
	copy(from(slope, rest), ss[:])
	copy(dst[rest:], ys[:])
}

func activateGroups(act Activation, dst, slope, z []float32, groups int, threshold uint32, kept, dropped float32, key uint64, word uint32) {
	var s *float32
	if slope != nil {
		s = &slope[0]
	}
	k0, k1 := uint32(key), uint32(key>>32)
	switch act {
	case ELU:
		activateELUSIMD(&dst[0], s, &z[0], groups, threshold, kept, dropped, k0, k1, word)
	case ReLU:
		activateReLUSIMD(&dst[0], s, &z[0], groups, threshold, kept, dropped, k0, k1, word)
	case GELU:
		activateGELUSIMD(&dst[0], s, &z[0], groups, threshold, kept, dropped, k0, k1, word)
	default:
		activateIdentitySIMD(&dst[0], s, &z[0], groups, threshold, kept, dropped, k0, k1, word)
	}
}

// softmaxRow writes the softmax of z, which is not empty, to p and returns the
// largest entry and the sum of e^(z−top).
func softmaxRow(p, z []float32) (top, total float32) {
	p = p[:len(z)]
	if level == simd.Portable {
		return softmaxRowGo(p, z)
	}
	return softmaxRowSIMD(&p[0], &z[0], len(z))
}

// expAbs sets dst = e^−|x| over the length of x.
func expAbs(dst, x []float32) {
	dst = dst[:len(x)]
	n := whole(len(x), lanes)
	if n > 0 {
		expAbsSIMD(&dst[0], &x[0], n)
	}
	expAbsGo(dst[n:], x[n:])
}

// bceGradient sets dst = share·(sigmoid(x) − t), 0 where t is NaN, over the
// length of x.
func bceGradient(dst, x, t []float32, share float32) {
	dst, t = dst[:len(x)], t[:len(x)]
	n := whole(len(x), lanes)
	if n > 0 {
		bceGradientSIMD(&dst[0], &x[0], &t[0], n, share)
	}
	bceGradientGo(dst[n:], x[n:], t[n:], share)
}

// multiply sets dst = a·b over the length of a.
func multiply(dst, a, b []float32) {
	dst, b = dst[:len(a)], b[:len(a)]
	n := whole(len(a), lanes)
	if n > 0 {
		multiplySIMD(&dst[0], &a[0], &b[0], n)
	}
	multiplyGo(dst[n:], a[n:], b[n:])
}

// timesZero returns the sum of x·0.
func timesZero(x []float32) float32 {
	n := whole(len(x), 64)
	var sums [16]float32
	if n == 0 {
		return timesZeroGo(x)
	}
	timesZeroSIMD(&sums[0], &x[0], n)
	return timesZeroGo(sums[:]) + timesZeroGo(x[n:])
}

// scaleTo sets dst = alpha·x over the length of x.
func scaleTo(dst []float32, alpha float32, x []float32) {
	dst = dst[:len(x)]
	n := whole(len(x), lanes)
	if n > 0 {
		scaleToSIMD(&dst[0], alpha, &x[0], n)
	}
	scaleToGo(dst[n:], alpha, x[n:])
}

// widen converts half precision over the length of src.
func widen(dst []float32, src []uint16) {
	dst = dst[:len(src)]
	n := whole(len(src), lanes)
	if n > 0 {
		widenSIMD(&dst[0], &src[0], n)
	}
	widenGo(dst[n:], src[n:])
}

// update applies the step to all elements of p.
func (s *adamStep) update(p, g, m, v []float32) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	n := whole(len(p), lanes)
	if n > 0 {
		adamSIMD(&p[0], &g[0], &m[0], &v[0], n, &s.beta1)
	}
	s.updateGo(p[n:], g[n:], m[n:], v[n:])
}

// groups calls wide and narrow for groups of the columns j to n−1, each with its first column, and
// returns the columns' part that is left to the portable code. AVX2's wide form has avx2 columns.
func groups(j, n, rows, avx2 int, wide, narrow func(j int)) int {
	switch {
	case level == simd.Portable || rows == 0:
		return j
	case level == simd.AVX512:
		avx2 = 64
	}
	for ; j+avx2 <= n; j += avx2 {
		wide(j)
	}
	for ; j+8 <= n; j += 8 {
		narrow(j)
	}
	return j
}

// columnSums sums columns j0 to end, at most columnTile. The scales of two rows are stride
// elements apart.
func columnSums(dst, x, scale []float32, stride, rows, width, j0, end int) {
	s, step := &one[0], 0
	if scale != nil && rows > 0 {
		s, step = &scale[0], 4*stride
	}
	j := groups(j0, end, rows, 32,
		func(j int) { columnSumsWideSIMD(&dst[j], &x[j], width, s, step, rows) },
		func(j int) { columnSumsNarrowSIMD(&dst[j], &x[j], width, s, step, rows) })
	columnSumsGo(dst, x, scale, stride, rows, width, j, end)
}

// headDots sets dst[h] to x_h·y_h for the heads of y, vectors of the given width. With one
// vector in x it is the same for all heads.
func headDots(dst, x, y []float32, width int) {
	if level == simd.Portable || width%16 != 0 || len(y) == 0 {
		headDotsGo(dst, x, y, width)
		return
	}
	heads := len(y) / width
	dst = dst[:heads]
	step := headStep(x, y, width)
	if level == simd.AVX512 {
		headDotsAVX512(&dst[0], &x[0], step, &y[0], heads, width)
	} else {
		headDotsAVX2(&dst[0], &x[0], step, &y[0], heads, width)
	}
}

// headSum adds scale·c[h]·x_h to y_h for each head h with a c[h] that counts. With one
// vector in y all heads add to it, with one in x all add the same.
func headSum(y, c []float32, scale float32, x []float32, width int) {
	if level == simd.Portable || width%16 != 0 || len(c) == 0 {
		headSumGo(y, c, scale, x, width)
		return
	}
	whole := x
	if len(y) > len(x) {
		whole = y
	}
	heads := len(whole) / width
	c = c[:heads]
	if level == simd.AVX512 {
		headSumAVX512(&y[0], headStep(y, whole, width), &c[0], scale, &x[0], headStep(x, whole, width), heads, width)
	} else {
		headSumAVX2(&y[0], headStep(y, whole, width), &c[0], scale, &x[0], headStep(x, whole, width), heads, width)
	}
}

// headStep returns the distance in bytes between the vectors of two heads in x, which has
// as many as whole, or one for all heads.
func headStep(x, whole []float32, width int) int {
	if len(x) == len(whole) {
		return 4 * width
	}
	_ = x[:width]
	return 0
}

// SquareRoot sets every element of x to its square root, correctly rounded, so
// the same bits on every machine. It runs on the caller's goroutine.
func SquareRoot(x []float64) {
	n := whole(len(x), 8)
	if n > 0 {
		squareRootSIMD(&x[0], n)
	}
	for k, v := range x[n:] {
		x[n+k] = math.Sqrt(v)
	}
}

// columnTotals sets dst[j] to the sum of column j of x, for len(dst) columns.
func columnTotals(dst []float64, x []float32, rows, width int) {
	j := groups(0, len(dst), rows, 16,
		func(j int) { columnTotalsWideSIMD(&dst[j], &x[j], width, rows) },
		func(j int) { columnTotalsNarrowSIMD(&dst[j], &x[j], width, rows) })
	columnTotalsGo(dst, x, rows, width, j)
}

// columnSquares sets dst[j] to the sum of (x − center[j])² over column j of x.
func columnSquares(dst []float64, x []float32, center []float64, rows, width int) {
	j := groups(0, len(dst), rows, 16,
		func(j int) { columnSquaresWideSIMD(&dst[j], &x[j], &center[j], width, rows) },
		func(j int) { columnSquaresNarrowSIMD(&dst[j], &x[j], &center[j], width, rows) })
	columnSquaresGo(dst, x, center, rows, width, j)
}

// columnProducts sets dst[j] to the sum of the float32 products of column j of a and b.
func columnProducts(dst []float64, a, b []float32, rows, width int) {
	j := groups(0, len(dst), rows, 16,
		func(j int) { columnProductsWideSIMD(&dst[j], &a[j], &b[j], width, rows) },
		func(j int) { columnProductsNarrowSIMD(&dst[j], &a[j], &b[j], width, rows) })
	columnProductsGo(dst, a, b, rows, width, j)
}

// columnDots sets sums[j] to the sum of column j of g, and dots[j] to its product with
// column j of x.
func columnDots(sums, dots []float64, g, x []float32, rows, width int) {
	j := groups(0, len(sums), rows, 16,
		func(j int) { columnDotsWideSIMD(&sums[j], &dots[j], &g[j], &x[j], width, rows) },
		func(j int) { columnDotsNarrowSIMD(&sums[j], &dots[j], &g[j], &x[j], width, rows) })
	columnDotsGo(sums, dots, g, x, rows, width, j)
}

// normalizeRow sets kept = (x − mean)·factor and y = gain·kept + shift over the length of x.
// kept may be y.
func normalizeRow(y, kept, x, gain, shift []float32, mean, factor float64) {
	y, kept, gain, shift = y[:len(x)], kept[:len(x)], gain[:len(x)], shift[:len(x)]
	n := whole(len(x), 8)
	if n > 0 {
		normalizeRowSIMD(&y[0], &kept[0], &x[0], &gain[0], &shift[0], mean, factor, n)
	}
	normalizeRowGo(y, kept, x, gain, shift, mean, factor, n)
}

// normalizeColumns is normalizeRow with a mean and a factor for each column.
func normalizeColumns(y, kept, x, gain, shift []float32, mean, factor []float64) {
	y, kept, gain, shift = y[:len(x)], kept[:len(x)], gain[:len(x)], shift[:len(x)]
	mean, factor = mean[:len(x)], factor[:len(x)]
	n := whole(len(x), 8)
	if n > 0 {
		normalizeColumnsSIMD(&y[0], &kept[0], &x[0], &gain[0], &shift[0], &mean[0], &factor[0], n)
	}
	normalizeColumnsGo(y, kept, x, gain, shift, mean, factor, n)
}

// batchNormBack sets d = factor·(g − mean − x·dot/rows) over the length of g.
func batchNormBack(d, g, x []float32, factor, mean, dot []float64, rows float64) {
	d, x = d[:len(g)], x[:len(g)]
	factor, mean, dot = factor[:len(g)], mean[:len(g)], dot[:len(g)]
	n := whole(len(g), 8)
	if n > 0 {
		batchNormBackSIMD(&d[0], &g[0], &x[0], &factor[0], &mean[0], &dot[0], rows, n)
	}
	batchNormBackGo(d, g, x, factor, mean, dot, rows, n)
}

// layerNormBack sets d = inverse·(g·gain − sum − x·along) over the length of g.
func layerNormBack(d, g, x, gain []float32, inverse, sum, along float64) {
	d, x, gain = d[:len(g)], x[:len(g)], gain[:len(g)]
	n := whole(len(g), 8)
	if n > 0 {
		layerNormBackSIMD(&d[0], &g[0], &x[0], &gain[0], inverse, sum, along, n)
	}
	layerNormBackGo(d, g, x, gain, inverse, sum, along, n)
}
