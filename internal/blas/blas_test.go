package blas_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/internal/blas"
)

func ExampleBLAS() {
	b := blas.Gonum()
	x := []float32{1, 2, 3, 4, 5, 6} // 2×3
	w := []float32{1, 0, 0, 1, 1, 1} // 3×2
	y := make([]float32, 4)
	b.Sgemm(false, false, 2, 2, 3, 1, x, 3, w, 2, 0, y, 2)
	fmt.Println(y)
	// Output: [4 5 10 11]
}
