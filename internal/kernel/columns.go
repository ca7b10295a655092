package kernel

import "github.com/gcn-layerwise/gcn/internal/parallel"

// eachColumns calls body for tiles of columns, on all cores, each of which takes g tiles at a time. A column is summed by one
// core from the first row to the last, so that a sum does not depend on the cores.
func eachColumns(width, g int, body func(lo, hi int)) {
	parallel.For((width+columnTile-1)/columnTile, g, func(from, to int) {
		for c := from; c < to; c++ {
			body(c*columnTile, min((c+1)*columnTile, width))
		}
	})
}

// ColumnProducts sets dst[j] = Σ_i a[i][j]·b[i][j]: the float32 products are summed from the
// first row to the last in float64. a and b have the given number of rows and dst width
// entries.
func ColumnProducts(dst, a, b []float32, rows, width int) {
	checkLen("ColumnProducts", "dst", len(dst), width)
	checkLens("ColumnProducts", rows*width, a, b)
	eachColumns(width, 1, func(lo, hi int) {
		var memory [columnTile]float64
		sums := memory[:hi-lo]
		columnProducts(sums, from(a, lo), from(b, lo), rows, width)
		for j, s := range sums {
			dst[lo+j] = float32(s)
		}
	})
}

// from returns x from element lo on; a matrix without rows, and one that is nil, has none.
func from(x []float32, lo int) []float32 { return x[min(lo, len(x)):] }

// The portable forms sum the columns from j on.

func columnTotalsGo(dst []float64, x []float32, rows, width, j int) {
	sums := dst[j:]
	clear(sums)
	for i := range rows {
		for k, v := range x[i*width+j:][:len(sums)] {
			sums[k] += float64(v)
		}
	}
}

func columnSquaresGo(dst []float64, x []float32, center []float64, rows, width, j int) {
	sums := dst[j:]
	clear(sums)
	for i := range rows {
		for k, v := range x[i*width+j:][:len(sums)] {
			d := float64(v) - center[j+k]
			sums[k] += d * d
		}
	}
}

func columnProductsGo(dst []float64, a, b []float32, rows, width, j int) {
	sums := dst[j:]
	clear(sums)
	for i := range rows {
		y := b[i*width+j:][:len(sums)]
		for k, v := range a[i*width+j:][:len(sums)] {
			sums[k] += float64(v * y[k])
		}
	}
}

func columnDotsGo(sums, dots []float64, g, x []float32, rows, width, j int) {
	sums, dots = sums[j:], dots[j:]
	clear(sums)
	clear(dots)
	for i := range rows {
		y := x[i*width+j:][:len(sums)]
		for k, v := range g[i*width+j:][:len(sums)] {
			sums[k] += float64(v)
			dots[k] += float64(v) * float64(y[k])
		}
	}
}
