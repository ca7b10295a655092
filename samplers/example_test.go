package samplers_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// The graph is a ring of six nodes, and node 0 is the only seed. Its neighbourhood
// {0, 1, 5} has three candidates: drawing all three makes the debiased estimate
// exact.
func ExampleLayerWise() {
	ring, err := graph.NewBuilder(6)
	if err != nil {
		panic(err)
	}
	for i := range int32(6) {
		if err := ring.Add(i, (i+1)%6); err != nil {
			panic(err)
		}
	}
	adjacency, _ := ring.Build()

	sampler := &samplers.LayerWise{
		Laplacian:  graph.NewLaplacian(adjacency),
		Sizes:      []int{3},
		Importance: samplers.LADIES{Flat: true},
		Draw:       samplers.WithoutReplacement{},
		Weight:     samplers.Debiased{},
	}
	if err := samplers.Prepare(sampler); err != nil {
		panic(err)
	}
	var batch samplers.MiniBatch
	rng := rand.New(samplers.NewSource(1, 0, 0))
	if err := sampler.Sample(context.Background(), []int32{0}, rng, &batch); err != nil {
		panic(err)
	}
	block := batch.Blocks[0]
	fmt.Println("outputs:", block.Dst)
	fmt.Println("inputs drawn:", len(block.Src))
	fmt.Printf("row sum: %.3f\n", block.RowSums[0])
	// Output:
	// outputs: [0]
	// inputs drawn: 3
	// row sum: 1.000
}
