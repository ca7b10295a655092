// Command ownmodel trains its own model: graph convolutions with plain Gorgonia nodes
// between them. Here tanh, sigmoid and a product gate one convolution by another. Any
// elementwise nodes may replace them.
package main

import (
	"context"
	"fmt"
	"log"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/ops"
	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/train"
)

func main() {
	if err := run(context.Background(), 200); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, batches int) error {
	data, err := datasets.Open(ctx, "synth:demo?nodes=5000&edges=40000", datasets.Options{})
	if err != nil {
		return err
	}
	sampler, err := samplers.ByName("ladies-flat-debiased", samplers.Config{
		Laplacian: data.Laplacian(), Layers: 2, Sizes: []int{512, 1024},
	})
	if err != nil {
		return err
	}
	model, err := build(data, sampler)
	if err != nil {
		return err
	}
	result, err := train.Fit(ctx, model, data, train.Options{
		Seed: 1, Batch: 256, MaxBatches: batches,
		Progress: func(p train.Progress) {
			if p.Evaluated && p.Batch%50 == 0 {
				fmt.Printf("batch %d: loss %.3f, validation %.3f\n", p.Batch, p.Loss, p.Valid)
			}
		},
	})
	if err != nil {
		return err
	}
	fmt.Printf("test %s %.3f\n", data.Metric, result.Test)
	return nil
}

// build returns the model over a new expression graph.
func build(data *datasets.Data, sampler samplers.Sampler) (*layers.Model, error) {
	const hidden = 64
	g := G.NewGraph()
	batch := layers.NewBatch(g, sampler)
	x, err := batch.Features(data.Features)
	if err != nil {
		return nil, err
	}
	first, err := layers.NewGraphConv(g, "first", data.Features.Cols, hidden, layers.ParameterOptions{})
	if err != nil {
		return nil, err
	}
	first.Activation = ops.ActivationReLU
	h, err := first.Forward(batch.Slot(0), x)
	if err != nil {
		return nil, err
	}
	if h, err = gated(g, batch.Slot(1), h, hidden); err != nil {
		return nil, err
	}
	classifier, err := layers.NewLinear(g, "classifier", hidden, data.Labels.Outputs(), layers.ParameterOptions{})
	if err != nil {
		return nil, err
	}
	logits, err := classifier.Forward(h)
	if err != nil {
		return nil, err
	}
	targets, err := batch.Targets(data.Labels)
	if err != nil {
		return nil, err
	}
	loss, err := ops.Loss(logits, targets)
	// Without Parameters, training updates every input of the graph that the loss
	// depends on. Without Inference, it evaluates through the graph itself.
	return &layers.Model{Batch: batch, Loss: loss, Logits: logits}, err
}

// gated returns tanh(conv(h)) · sigmoid(gate(h)), where conv and gate are
// convolutions over the slot. The rest are plain Gorgonia nodes.
func gated(g *G.ExprGraph, slot *ops.Slot, h *G.Node, width int) (*G.Node, error) {
	conv, err := layers.NewGraphConv(g, "conv", width, width, layers.ParameterOptions{})
	if err != nil {
		return nil, err
	}
	gate, err := layers.NewGraphConv(g, "gate", width, width, layers.ParameterOptions{})
	if err != nil {
		return nil, err
	}
	value, err := conv.Forward(slot, h)
	if err != nil {
		return nil, err
	}
	if value, err = G.Tanh(value); err != nil {
		return nil, err
	}
	open, err := gate.Forward(slot, h)
	if err != nil {
		return nil, err
	}
	if open, err = G.Sigmoid(open); err != nil {
		return nil, err
	}
	return G.HadamardProd(value, open)
}
