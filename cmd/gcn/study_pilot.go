package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/gcn-layerwise/gcn/graph"
	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/study"
)

// pilotOptions are the options of a study of control variates: it trains a model for some
// mini-batches, for activations and histories of them.
type pilotOptions struct {
	Ages    []int   `json:"ages" range:"[0," without:"run,layer" why:"the study is of the second convolution of a model that it trains on --data" help:"also measure control variates, with activations of so many mini-batches ago; this trains a model"`
	Batches int     `json:"batches" default:"200" range:"[1," with:"ages" help:"with --ages: mini-batches that the model is trained for"`
	Dropout float64 `json:"dropout" default:"0.2" range:"[0,1)" with:"ages" help:"with --ages: share of the activations dropped"`
}

func (o *pilotOptions) check() error {
	if o.Ages != nil && slices.Max(o.Ages) > o.Batches {
		return usagef("--ages %d: want at most --batches %d", slices.Max(o.Ages), o.Batches)
	}
	return nil
}

// products returns HW of the second convolution, and H̄W of each age.
func (o *pilotOptions) products(ctx context.Context, s *subject, options *studyOptions, ages []int) (*graph.Features, []study.History, error) {
	s.trained = true
	return study.Pilot{
		Data: s.data, Ages: ages, Hidden: options.Hidden, Dropout: cmp.Or(o.Dropout, layers.NoDropout),
		Batch: options.Batch, Batches: o.Batches, Seed: options.Seed,
	}.Run(ctx)
}
