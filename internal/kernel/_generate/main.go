// Command generate writes the amd64 assembly of packages kernel and blas. It has
// a module of its own so that its one dependency stays out of the library's.
//
//	go generate ./internal/kernel ./internal/blas    (from the repository's root)
package main

import (
	"flag"

	"github.com/mmcloughlin/avo/build"
)

var part = flag.String("part", "kernel", "the package to generate: kernel or blas")

var (
	levels = flag.String("levels", "", "the file of functions that choose a level; empty for none")
	none   = flag.String("none", "", "the file for processors without assembly, beside levels")
)

func main() {
	flag.Parse()
	build.ConstraintExpr("!noasm")
	if *part == "kernel" {
		prefetchAt()
		prefetchLines()
	}
	for _, v := range []vectors{avx2, avx512} {
		if *part == "blas" {
			rows := 6
			if v.lanes == 16 {
				rows = 12
			}
			sgemm(v, rows, 2)
			sgemm(v, rows, 1)
			packStrip(v)
			transpose(v)
			continue
		}
		spmm(v, false, false)
		spmm(v, true, false)
		spmm(v, false, true)
		spmm(v, true, true)
		for _, act := range []string{"Identity", "ELU", "ReLU", "GELU"} {
			activation(v, act)
		}
		softmax(v)
		expAbs(v)
		bceGradient(v)
		multiply(v)
		timesZero(v)
		scaleTo(v)
		widen(v)
		squareRoot(v)
		adam(v)
		columnSums(v, 4*v.lanes)
		columnSums(v, 8)
		for _, columns := range []int{v.normColumns(), 8} {
			columnTotals(v, columns)
			columnSquares(v, columns)
			columnProducts(v, columns)
			columnDots(v, columns)
		}
		normalize(v, false)
		normalize(v, true)
		batchNormBack(v)
		layerNormBack(v)
		headDots(v)
		headSum(v)
	}
	build.Generate()
	if *levels != "" {
		writeLevels(flag.Lookup("stubs").Value.String(), *levels, *none)
	}
}

// form names the two forms of a function that takes some columns at a time.
func form(columns int) string {
	if columns > 8 {
		return "Wide"
	}
	return "Narrow"
}
