package samplers_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// Parts are fields of a sampler. A weight that does not go with the draw is an
// error.
func ExampleConfigure() {
	b, err := graph.NewBuilder(3)
	if err != nil {
		panic(err)
	}
	if err := b.Add(0, 1); err != nil {
		panic(err)
	}
	adjacency, _ := b.Build()
	config := samplers.Config{Laplacian: graph.NewLaplacian(adjacency), Layers: 2, Sizes: []int{512}}

	draw := samplers.Systematic{}
	sampler, err := samplers.Configure(&samplers.LayerWise{Draw: draw}, config)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%T of %d layers\n", sampler, sampler.Layers())

	_, err = samplers.Configure(&samplers.LayerWise{Draw: draw, Weight: samplers.Rank{}}, config)
	fmt.Println(err)
	// Output:
	// *samplers.LayerWise of 2 layers
	// samplers: rank-conditioned weights need weighted random sampling without replacement (WithoutReplacement), got samplers.Systematic
}
