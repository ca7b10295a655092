package kernel

import "github.com/gcn-layerwise/gcn/internal/parallel"

// BiasRows sets row i of dst to scale[i]·bias, or to bias where scale is nil.
// bias holds width values; dst has the given number of rows.
func BiasRows(dst, bias, scale []float32, rows, width int) {
	checkLen("BiasRows", "dst", len(dst), rows*width)
	checkLen("BiasRows", "bias", len(bias), width)
	checkLens("BiasRows", rows, scale)
	g := grain(width / 4) // it only writes
	if rows <= g {        // many calls are of a few rows: no closure for them
		biasRows(dst, bias[:width], scale, 0, rows)
		return
	}
	parallel.For(rows, g, func(lo, hi int) { biasRows(dst, bias[:width], scale, lo, hi) })
}

func biasRows(dst, bias, scale []float32, lo, hi int) {
	for i := lo; i < hi; i++ {
		y := dst[i*len(bias) : (i+1)*len(bias)]
		if scale == nil {
			copy(y, bias)
		} else {
			scaleTo(y, scale[i], bias)
		}
	}
}

// scaleToGo is the portable form of scaleTo.
func scaleToGo(dst []float32, alpha float32, x []float32) {
	dst = dst[:len(x)]
	for j, v := range x {
		dst[j] = alpha * v
	}
}

// columnTile is how many columns of a matrix are summed together.
const columnTile = 64

// ColumnSums sets dst[j] = Σ_i scale[i]·x[i][j], where nil scale means 1; it is
// the gradient of BiasRows. x has the given number of rows and dst width
// entries. Each column is summed from the first row to the last in float64;
// the cores share the columns, not the rows.
func ColumnSums(dst []float32, x []float32, scale []float32, rows, width int) {
	checkLen("ColumnSums", "dst", len(dst), width)
	checkLen("ColumnSums", "x", len(x), rows*width)
	checkLens("ColumnSums", rows, scale)
	g := grain(rows * columnTile / 4) // it only reads
	eachColumns(width, g, func(lo, hi int) { columnSums(dst, x, scale, 1, rows, width, lo, hi) })
}

// columnSumsGo is the portable form of columnSums, for columns j0 to j1.
func columnSumsGo(dst, x, scale []float32, stride, rows, width, j0, j1 int) {
	if j0 == j1 {
		return
	}
	var sums [columnTile]float64
	tile := j1 - j0
	for i := range rows {
		s := 1.0
		if scale != nil {
			s = float64(scale[i*stride])
		}
		row := x[i*width+j0:][:tile]
		for j, v := range row {
			sums[j] += s * float64(v)
		}
	}
	for j, s := range sums[:tile] {
		dst[j0+j] = float32(s)
	}
}
