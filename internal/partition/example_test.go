package partition_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/internal/partition"
)

// Two squares joined by one edge.
func ExampleMultilevel() {
	b, err := graph.NewBuilder(8)
	if err != nil {
		panic(err)
	}
	for _, e := range [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 0}, {4, 5}, {5, 6}, {6, 7}, {7, 4}, {0, 4}} {
		if err := b.Add(e[0], e[1]); err != nil {
			panic(err)
		}
	}
	adjacency, _ := b.Build()
	part, err := partition.Multilevel(adjacency, 2)
	if err != nil {
		panic(err)
	}
	fmt.Println(part)
	// Output: [0 0 0 0 1 1 1 1]
}
