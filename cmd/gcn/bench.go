package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/datasets"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
)

// benchFlags returns the flags of training that a benchmark of a model has, and more.
func benchFlags(more ...string) []string {
	return append(more, "Model", "data", "seed", "device", "label-inputs", "label-smoothing", "class-weights")
}

// benchModel checks the options, opens the data and builds the model, with a method of its own
// if none is given.
func benchModel(cmd *cobra.Command, method string) (*run.Plan, *datasets.Data, *layers.GCN, error) {
	s, err := run.Load(nil, nil, nil, append([]run.Value{{Option: "method", Text: method}}, run.Values(cmd.Flags())...))
	if err != nil {
		return nil, nil, nil, err
	}
	if s.Samples.Auto() {
		return nil, nil, nil, usagef("--samples auto is for gcn train")
	}
	p, err := s.Plan()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := p.Open(); err != nil {
		return nil, nil, nil, err
	}
	data, err := openData(cmd.Context(), p.Data)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := p.NewModel(cmd.Context(), data)
	return p, data, model, err
}
