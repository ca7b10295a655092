package layers_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// ring returns a ring of n nodes in two classes, each with a noisy sign of its
// class and the constant 1 as features.
func ring(n int) (*graph.Laplacian, *graph.Features, *graph.Labels, error) {
	b, err := graph.NewBuilder(n)
	if err != nil {
		return nil, nil, nil, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	x := &graph.Features{Rows: n, Cols: 2}
	y := &graph.Labels{Classes: 2}
	for v := range n {
		if err := b.Add(int32(v), int32((v+1)%n)); err != nil {
			return nil, nil, nil, err
		}
		class := 2 * v / n
		y.Class = append(y.Class, int32(class))
		x.Data = append(x.Data, float32(2*class-1)+2*float32(rng.NormFloat64()), 1)
	}
	a, _ := b.Build()
	return graph.NewLaplacian(a), x, y, nil
}

// The model of the paper in one call, and its logits over full neighbourhoods.
func ExampleGCN() {
	p, x, y, err := ring(100)
	if err != nil {
		fmt.Println(err)
		return
	}
	sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40, 60}}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	model, err := layers.NewGCN(batch, x, y, layers.GCNOptions{Hidden: 16, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range model.Parameters {
		fmt.Println(n.Name(), n.Shape())
	}
	logits, err := model.Infer(context.Background(), p, x, []int32{3, 14, 15})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(logits), "logits")
	// Output:
	// conv0.weight (2, 16)
	// conv0.bias (16)
	// conv1.weight (16, 16)
	// conv1.bias (16)
	// classifier.weight (16, 2)
	// classifier.bias (2)
	// 6 logits
}
