package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyFeaturesCommand() *cobra.Command {
	var o struct {
		subjectOptions
		Hops []int `json:"hops" arg:"N,..." default:"0,1,2" range:"[0," help:"largest powers of P in the inputs; 0: the features alone"`
		Runs int   `json:"runs" default:"1" range:"[1," help:"training runs, with seeds seed, seed+1, …"`
	}
	return newStudy("features", &o, func(ctx context.Context, s *subject) (study.Table, error) {
		s.weights = ""
		gcn, _ := run.New().Plan() // the defaults fit together
		gcn.ChooseLimits(s.data)
		alone := study.FeaturesAlone{
			Data:    s.data,
			Hops:    o.Hops,
			Runs:    o.Runs,
			Options: gcn.Fit(),
			Trained: s.model,
		}
		alone.Options.Config, alone.Options.CheckpointInterval, alone.Options.Seed = nil, 0, o.Seed
		if s.model == nil {
			alone.Model = func(ctx context.Context, seed uint64) (*layers.GCN, error) {
				gcn.Seed = seed
				return gcn.NewModel(ctx, s.data)
			}
		}
		alone.Options.Progress = trainingMeter(s.stderr, "") // of one run after another
		return alone.Run(ctx)
	})
}
