package samplers_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/samplers"
)

// twoTriangles returns the Laplacian of two triangles, {0, 1, 2} and {3, 4, 5},
// with one edge between nodes 2 and 3.
func twoTriangles() *graph.Laplacian {
	b, err := graph.NewBuilder(6)
	if err != nil {
		panic(err)
	}
	for _, e := range [][2]int32{{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}, {2, 3}} {
		if err := b.Add(e[0], e[1]); err != nil {
			panic(err)
		}
	}
	adjacency, _ := b.Build()
	return graph.NewLaplacian(adjacency)
}

// Node 2 has three neighbours and draws two of them, each counting 3/2 times.
func ExampleNeighbor() {
	p := twoTriangles()
	sampler := &samplers.Neighbor{Laplacian: p, Sizes: []int{2}}
	if err := samplers.Prepare(sampler); err != nil {
		panic(err)
	}
	var batch samplers.MiniBatch
	if err := sampler.Sample(context.Background(), []int32{2}, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
		panic(err)
	}
	block := batch.Blocks[0]
	fmt.Println("inputs:", len(block.Src), "the first of them:", block.Src[0])
	for k, j := range block.Matrix.Row(0) {
		fmt.Printf("times P's entry: %.1f\n", block.Matrix.RowValues(0)[k]/p.At(2, int(block.Src[j])))
	}
	// Output:
	// inputs: 3 the first of them: 2
	// times P's entry: 1.0
	// times P's entry: 1.5
	// times P's entry: 1.5
}

// The entries drawn and the control add up to the rows of P.
func ExampleNeighbor_control() {
	sampler := &samplers.Neighbor{Laplacian: twoTriangles(), Sizes: []int{1, 1}, Control: samplers.ControlRolling}
	if err := samplers.Prepare(sampler); err != nil {
		panic(err)
	}
	var batch samplers.MiniBatch
	if err := sampler.Sample(context.Background(), []int32{2}, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
		panic(err)
	}
	block := batch.Blocks[1]
	sum := [6]float32{}
	for k, j := range block.Matrix.Row(0) {
		sum[block.Src[j]] += block.Matrix.RowValues(0)[k]
	}
	for k, j := range block.Control.Row(0) {
		sum[j] += block.Control.RowValues(0)[k]
	}
	fmt.Println("drawn:", block.Matrix.NNZ(), "control:", block.Control.NNZ())
	fmt.Printf("%.3f\n", sum)
	// Output:
	// drawn: 2 control: 3
	// [0.289 0.289 0.250 0.250 0.000 0.000]
}

// A unit is a node, so a batch of two seeds has one node or two.
func ExampleSubgraph() {
	sampler := &samplers.Subgraph{Laplacian: twoTriangles(), Depth: 2, Units: samplers.RandomNodes{}}
	if err := samplers.Prepare(sampler); err != nil {
		panic(err)
	}
	var batch samplers.MiniBatch
	if err := sampler.Sample(context.Background(), []int32{0, 1}, rand.New(samplers.NewSource(2, 0, 0)), &batch); err != nil {
		panic(err)
	}
	fmt.Println("one block for both layers:", batch.Blocks[0] == batch.Blocks[1])
	fmt.Println("nodes:", len(batch.Outputs()), "loss weights:", len(batch.LossWeights))
	// Output:
	// one block for both layers: true
	// nodes: 2 loss weights: 2
}

// The parts are the triangles; a batch is one of them.
func ExampleClusters() {
	sampler := &samplers.Subgraph{Laplacian: twoTriangles(), Depth: 2, Units: samplers.Clusters{Parts: 2, PerBatch: 1}}
	if err := samplers.Prepare(sampler); err != nil {
		panic(err)
	}
	var batch samplers.MiniBatch
	if err := sampler.Sample(context.Background(), []int32{0}, rand.New(samplers.NewSource(1, 0, 0)), &batch); err != nil {
		panic(err)
	}
	fmt.Println("nodes:", batch.Outputs())
	// Output:
	// nodes: [3 4 5]
}
