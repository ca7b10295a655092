package samplers_test

import (
	"fmt"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// The command takes parts by name. A weight that does not go with the draw is an
// error.
func ExampleFromParts() {
	b, err := graph.NewBuilder(3)
	if err != nil {
		panic(err)
	}
	if err := b.Add(0, 1); err != nil {
		panic(err)
	}
	adjacency, _ := b.Build()
	config := samplers.Config{Laplacian: graph.NewLaplacian(adjacency), Layers: 2, Sizes: []int{512}}

	sampler, err := samplers.FromParts(samplers.Parts{Flat: true, Draw: "systematic"}, config)
	if err != nil {
		panic(err)
	}
	parts := sampler.(*samplers.LayerWise)
	fmt.Printf("%T, %T, sizes %v\n", parts.Importance, parts.Draw, parts.Sizes)

	_, err = samplers.FromParts(samplers.Parts{Draw: "systematic", Weight: "rank"}, config)
	fmt.Println(err)
	// Output:
	// samplers.LADIES, samplers.Systematic, sizes [512 512]
	// samplers: rank-conditioned weights need weighted random sampling without replacement (WithoutReplacement), got samplers.Systematic
}
