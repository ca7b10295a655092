//go:build !cuda

package layers_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	G "gorgonia.org/gorgonia"
)

// A model of your own: two graph convolutions with Gorgonia's Tanh and a skip connection
// between them, compiled once and run over sampled batches.
func Example() {
	if err := ownModel(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// loss fell by a third in 60 steps: true
}

func ownModel() error {
	p, x, y, err := ring(100)
	if err != nil {
		return err
	}

	// First connect the sampler to the graph. Everything else is built over its batch.
	g := G.NewGraph()
	sampler := &samplers.LayerWise{Laplacian: p, Sizes: []int{40, 60}}
	batch := layers.NewBatch(g, sampler)
	h, err := batch.Features(x)
	if err != nil {
		return err
	}
	first, err := layers.NewGraphConv(g, "first", 2, 8, layers.ParameterOptions{})
	if err != nil {
		return err
	}
	if h, err = first.Forward(batch.Slot(0), h); err != nil {
		return err
	}
	activated, err := G.Tanh(h) // a plain Gorgonia node
	if err != nil {
		return err
	}
	if h, err = G.Add(activated, h); err != nil { // and a skip connection
		return err
	}
	second, err := layers.NewGraphConv(g, "second", 8, 2, layers.ParameterOptions{})
	if err != nil {
		return err
	}
	logits, err := second.Forward(batch.Slot(1), h)
	if err != nil {
		return err
	}
	targets, err := batch.Targets(y)
	if err != nil {
		return err
	}
	loss, err := ops.Loss(logits, targets)
	if err != nil {
		return err
	}
	parameters := G.Nodes{first.W, first.B, second.W, second.B}
	if _, err := G.Grad(loss, parameters...); err != nil {
		return err
	}

	// One machine, compiled once. Gorgonia's own solver updates the parameters.
	machine := G.NewTapeMachine(g, G.BindDualValues(parameters...))
	defer machine.Close()
	solver := G.NewAdamSolver(G.WithLearnRate(0.05))
	var drawn samplers.MiniBatch
	var start, last float32
	for step := range uint64(60) {
		rng := rand.New(samplers.NewSource(1, 0, step))
		seeds := make([]int32, 0, 30+step%3) // batches may differ in size
		for _, v := range rng.Perm(100)[:cap(seeds)] {
			seeds = append(seeds, int32(v))
		}
		if err := sampler.Sample(context.Background(), seeds, rng, &drawn); err != nil {
			return err
		}
		if err := batch.Set(&drawn, true, step); err != nil {
			return err
		}
		if err := machine.RunAll(); err != nil {
			return err
		}
		last = loss.Value().Data().(float32)
		if step == 0 {
			start = last
		}
		if err := solver.Step(G.NodesToValueGrads(parameters)); err != nil {
			return err
		}
		machine.Reset()
	}
	fmt.Println("loss fell by a third in 60 steps:", last < start*2/3)
	return nil
}
