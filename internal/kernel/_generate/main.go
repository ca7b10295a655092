// Command generate writes the amd64 assembly of package kernel. It has a module
// of its own so that its one dependency stays out of the library's.
//
//	go generate ./internal/kernel    (from the root of the repository)
package main

import (
	"github.com/mmcloughlin/avo/build"
)

func main() {
	build.ConstraintExpr("!noasm")
	for _, v := range []vectors{avx2, avx512} {
		spmm(v, false)
		spmm(v, true)
		for _, act := range []string{"Identity", "ELU", "ReLU"} {
			activation(v, act)
		}
		softmax(v)
		multiply(v)
		scaleTo(v)
		adam(v)
		columnSums(v, 4*v.lanes)
		columnSums(v, 8)
	}
	build.Generate()
}
