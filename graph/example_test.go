package graph_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
)

// A triangle with a tail. The edges contain both directions of one edge, a repeated
// edge, and a self-loop.
func Example() {
	b, err := graph.NewBuilder(4)
	if err != nil {
		panic(err)
	}
	for _, e := range [][2]int32{{0, 1}, {1, 0}, {1, 2}, {2, 0}, {2, 3}, {2, 3}, {3, 3}} {
		if err := b.Add(e[0], e[1]); err != nil {
			panic(err)
		}
	}
	adjacency, report := b.Build()
	fmt.Println("edges:", report.Edges, "dropped:", report.SelfLoops+report.Duplicates)
	fmt.Println("neighbours of 2:", adjacency.Row(2))

	p := graph.NewLaplacian(adjacency)
	fmt.Printf("P[2][3] = %.4f, P[2][2] = %.4f\n", p.At(2, 3), p.At(2, 2))
	// Output:
	// edges: 4 dropped: 3
	// neighbours of 2: [0 1 3]
	// P[2][3] = 0.3536, P[2][2] = 0.2500
}
