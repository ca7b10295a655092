package main

import (
	"cmp"
	"context"

	G "gorgonia.org/gorgonia"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/internal/blas"
	"github.com/gcn-layerwise/gcn/layers"
)

// newModel builds the model that the options describe, in an expression graph
// of its own.
func (o *trainOptions) newModel(ctx context.Context, data *datasets.Data) (*layers.GCN, error) {
	if _, err := blas.Default(); err != nil {
		return nil, err
	}
	if err := o.propagate(ctx, data, nil); err != nil {
		return nil, err
	}
	sampler, err := o.newSampler(data)
	if err != nil {
		return nil, err
	}
	gcn := o.gcnOptions()
	if err := o.partOptions.applyData(&gcn, data); err != nil {
		return nil, err
	}
	batch := layers.NewBatch(G.NewGraph(), sampler)
	m, err := layers.NewGCN(batch, data.Features, data.Labels, gcn)
	if err != nil {
		return nil, err
	}
	m.Device = o.device
	return m, nil
}

// gcnOptions returns the options of the model, except those that follow from the data.
func (o *trainOptions) gcnOptions() layers.GCNOptions {
	gcn := layers.GCNOptions{
		Hidden: o.Hidden, Activation: activationNamed(o.Activation), LayerNorm: o.LayerNorm, Residual: o.Residual, Seed: o.Seed,
		// 0 means none here, and the default there.
		Dropout: cmp.Or(o.Dropout, layers.NoDropout), ClassifierDropout: cmp.Or(o.ClassifierDropout, layers.NoDropout),
		InputDropout: o.InputDropout, ExactInput: o.exact, ControlHalf: o.ControlHalf, ControlLinear: o.ControlLinear, BiasAfter: o.BiasAfter,
	}
	if o.Conv == convGAT {
		gcn.Heads, gcn.OutputHeads = o.Heads, o.OutputHeads
		gcn.AttentionDropout, gcn.PlainAttention = o.AttentionDropout, o.PlainAttention
	}
	if o.Model == modelEquation {
		gcn.Form = layers.FormEquation
	}
	o.partOptions.apply(&gcn)
	return gcn
}

// propagate computes P·X of the data with --exact-input, unless it is there already.
func (o *trainOptions) propagate(ctx context.Context, data *datasets.Data, show func(datasets.FetchProgress)) (err error) {
	if !o.ExactInput || o.exact != nil {
		return nil
	}
	var progress func(done, rows int)
	if show != nil {
		row := 4 * int64(data.Features.Cols)
		progress = func(done, rows int) {
			show(datasets.FetchProgress{Name: o.Data, Stage: "propagate", Done: row * int64(done), Total: row * int64(rows)})
		}
	}
	o.exact, err = layers.NewExactInput(ctx, data.Laplacian(), data.Features, data.Propagated, progress)
	return err
}
