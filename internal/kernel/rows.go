package kernel

import "fmt"

// rangeWork is how many elements, roughly 32 KB to 128 KB of memory traffic, a
// range handed to parallel.For carries: small enough to balance cores, large
// enough that claiming it is free.
const rangeWork = 1 << 15

// grain returns how many rows make up a range when a row costs the given
// number of elements. It depends on the sizes alone.
func grain(perRow int) int { return max(1, rangeWork/max(perRow, 1)) }

// rowOf returns row i of x, a matrix of the given width.
func rowOf[T any](x []T, i, width int) []T { return x[i*width:][:width] }

// checkLen panics unless a slice holds the elements that an argument needs.
func checkLen(function, argument string, have, need int) {
	if have < need {
		panic(fmt.Sprintf("kernel: %s: %s holds %d elements, need %d", function, argument, have, need))
	}
}

// checkLens panics unless every slice that is not nil holds the elements that the arguments
// need.
func checkLens[T any](function string, need int, arguments ...[]T) {
	for _, x := range arguments {
		if x != nil {
			checkLen(function, "an argument", len(x), need)
		}
	}
}

// checkRows panics unless the rows lie inside every one of the matrices of the
// given width. Matrices that are nil do not count.
func checkRows(function string, rows []int32, width int, matrices ...[]float32) {
	var most int32 = -1
	for _, r := range rows {
		if r < 0 {
			panic(fmt.Sprintf("kernel: %s: row %d", function, r))
		}
		most = max(most, r)
	}
	checkLens(function, int(most+1)*width, matrices...)
}
