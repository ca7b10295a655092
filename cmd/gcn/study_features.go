package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

func newStudyFeaturesCommand() *cobra.Command {
	var o struct {
		subjectOptions
		Hops []int `json:"hops" default:"0,1,2" range:"[0," help:"largest powers of P in the inputs; 0: the features alone"`
		Runs int   `json:"runs" default:"1" range:"[1," help:"training runs, with seeds seed, seed+1, …"`
	}
	return newCommand(&cobra.Command{
		Use: "features",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.study(cmd, o.open, func(ctx context.Context, s *subject) (study.Shown, error) {
				s.weights = ""
				gcn, err := run.New().Plan()
				if err != nil {
					return nil, err
				}
				alone := study.FeaturesAlone{Data: s.data, Hops: o.Hops, Runs: o.Runs, Options: gcn.Fit(), AutoInterval: true, Trained: s.model}
				alone.Options.Config, alone.Options.CheckpointInterval, alone.Options.Seed = nil, 0, o.Seed
				if s.model == nil {
					alone.Model = func(ctx context.Context, seed uint64) (*layers.GCN, error) {
						gcn.Seed = seed
						return gcn.NewModel(ctx, s.data)
					}
				}
				show, finish := trainingMeter(cmd.ErrOrStderr(), "")
				count := 0
				alone.Options.Progress = func(p train.Progress) {
					if count == 0 || p.Batch == 1 { // another run
						count++
						finish()
						show, finish = trainingMeter(cmd.ErrOrStderr(), fmt.Sprintf("run %d of %d: ", count, o.Runs*(len(o.Hops)+1)))
					}
					show(p)
				}
				t, err := alone.Run(ctx)
				finish()
				return t, err
			})
		},
	}, &o)
}
