package ops_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/ops"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// One propagation over a block of two output and three input nodes, and its
// gradient.
func Example() {
	x := &graph.Features{Rows: 4, Cols: 2, Data: []float32{
		1, 0,
		0, 1,
		2, 2,
		5, 1,
	}}
	block := &graph.Block{
		Dst:    []int32{0, 1},
		Src:    []int32{0, 2, 3},
		Matrix: graph.CSR{Rows: 2, Cols: 3, Ptr: []int64{0, 2, 3}, Idx: []int32{0, 1, 2}, Val: []float32{0.5, 0.25, 1}},
	}
	block.Finish()

	g := G.NewGraph()
	slot := ops.NewSlot(2, 3)
	h, err := ops.Features(g, x, slot)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := G.NewMatrix(g, tensor.Float32, G.WithName("w"), G.WithShape(2, 1),
		G.WithValue(tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float32{1, -1}))))
	propagated, err := ops.Propagate(slot, h)
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := ops.MatMul(propagated, w)
	if err != nil {
		fmt.Println(err)
		return
	}
	loss, err := ops.Sum(y)
	if err != nil {
		fmt.Println(err)
		return
	}
	gradients, err := G.Grad(loss, w)
	if err != nil {
		fmt.Println(err)
		return
	}

	machine := G.NewTapeMachine(g) // once; the next blocks go into the same slot
	defer machine.Close()
	if err := slot.Set(block); err != nil {
		fmt.Println(err)
		return
	}
	if err := machine.RunAll(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("P̃XW =", y.Value().Data())
	fmt.Println("∂/∂W =", gradients[0].Value().Data())
	machine.Reset()
	// Output:
	// P̃XW = [0.5 4]
	// ∂/∂W = [6 1.5]
}
