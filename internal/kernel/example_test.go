package kernel_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/kernel"
)

// One layer of a graph convolution by hand: propagate two features over a path
// of three nodes, add a bias, apply ReLU.
func Example() {
	path := &graph.CSR{Rows: 3, Cols: 3, Ptr: []int64{0, 1, 3, 4}, Idx: []int32{1, 0, 2, 1}}
	p := graph.NewRowLaplacian(path) // the mean over a node and its neighbours
	x := []float32{3, -3, 0, 0, 3, -9}

	h := make([]float32, 6)
	kernel.PropagateRows(h, p, nil, x, 2, nil)
	bias := make([]float32, 6)
	kernel.BiasRows(bias, []float32{0, 3}, nil, 3, 2)
	for k := range h {
		h[k] += bias[k]
	}
	kernel.Activate(kernel.ReLU, h, nil, h, 3, 2, kernel.Dropout{})
	fmt.Println(h)
	// Output: [1.5 1.5 2 0 1.5 0]
}

func ExampleSpMM() {
	a := &graph.CSR{Rows: 2, Cols: 3, Ptr: []int64{0, 2, 2}, Idx: []int32{0, 2}, Val: []float32{1, 10}}
	x := []float32{1, 2, 3, 4, 5, 6} // 3×2
	y := make([]float32, 4)
	kernel.SpMM(y, a, x, 2)
	fmt.Println(y)
	// Output: [51 62 0 0]
}
