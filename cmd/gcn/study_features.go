package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/layers"
	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// featuresStudy is one execution of "gcn study features".
type featuresStudy struct {
	studyOptions
	hops intList
	runs int
}

func newStudyFeaturesCommand() *cobra.Command {
	f := new(featuresStudy)
	cmd := &cobra.Command{
		Use:   "features",
		Short: "Measure how well a model without convolutions predicts the labels",
		Long: `Train the model of gcn train on the data without edges: a perceptron with two hidden
layers of 256 and a classifier. For --hops 2 it reads the features X beside PX and P²X,
which are computed once, as SIGN does (arXiv:2004.11198). The row GCN is the model of
gcn train, or of --run. All are trained with the defaults of gcn train.

If X alone scores as well as the GCN, the graph adds nothing. If X PX P2X does, this
graph needs no GCN, and a model of another library can read these features.`,
		Example: `  gcn study features
  gcn study features --hops 0,1,2 --data synth:arxiv --runs 3
  gcn study features --run runs/first --json`,
		Args: noArguments,
		RunE: checked(f.check, f.do),
	}
	cmd.Flags().SortFlags = false
	f.dataFlag(cmd)
	cmd.Flags().StringVar(&f.run, "run", "", "folder `DIR` of a training run, for its data and its scores in the row GCN (default: train one)")
	f.hops = intList{0, 1, 2}
	cmd.Flags().Var(&f.hops, "hops", "largest powers of P in the inputs; 0: the features alone")
	cmd.Flags().IntVar(&f.runs, "runs", 1, "training runs, with seeds seed, seed+1, …")
	f.resultFlags(cmd)
	return cmd
}

func (f *featuresStudy) check() error {
	if len(f.hops) == 0 || slices.Min(f.hops) < 0 {
		return usagef("--hops %s: want numbers from 0, such as 0,1,2", f.hops.String())
	}
	return atLeast("runs", f.runs, 1)
}

func (f *featuresStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := f.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	s.noWeight = true
	gcn, fs := new(trainOptions), pflag.NewFlagSet("gcn", pflag.ContinueOnError)
	gcn.flags(fs)
	if err := gcn.check(fs); err != nil {
		return err
	}
	alone := study.FeaturesAlone{Data: s.data, Hops: f.hops, Runs: f.runs, Options: gcn.fitOptions(), AutoInterval: true, Trained: s.model}
	if s.model == nil {
		alone.Model = func(ctx context.Context, seed uint64) (*layers.GCN, error) {
			gcn.Seed = seed
			return gcn.newModel(ctx, s.data)
		}
	}
	var shown progress
	run := 0
	show := func(p train.Progress) {
		if shown == nil || p.Batch == 1 { // another run
			run++
			prefix := ""
			if runs := f.runs * (len(f.hops) + 1); runs > 1 {
				prefix = fmt.Sprintf("run %d of %d: ", run, runs)
			}
			shown = newProgress(cmd.ErrOrStderr(), false, prefix)
		}
		shown.show(p)
	}
	alone.Options.Seed, alone.Options.Progress = f.seed, show
	t, err := alone.Run(cmd.Context())
	if shown != nil {
		shown.finish()
	}
	if err != nil {
		return err
	}
	return f.finish(cmd, s, "features", t)
}
