package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
	"github.com/gcn-layerwise/gcn/train"
)

// featuresStudy is one execution of "gcn study features".
type featuresStudy struct {
	studyOptions
	runs int
}

func newStudyFeaturesCommand() *cobra.Command {
	f := new(featuresStudy)
	cmd := &cobra.Command{
		Use:   "features",
		Short: "Measure how well the features predict the labels without the graph",
		Long: `Train the paper's model on the data without edges, by the paper's protocol. The
model is then a perceptron with two hidden layers of 256 and a classifier. The
difference from the score of gcn train is the graph's part in it.`,
		Example: `  gcn study features
  gcn study features --data synth:arxiv --runs 3 --json`,
		Args: noArguments,
		RunE: checked(f.check, f.do),
	}
	cmd.Flags().SortFlags = false
	f.dataFlag(cmd)
	cmd.Flags().IntVar(&f.runs, "runs", 1, "training runs, with seeds seed, seed+1, …")
	f.resultFlags(cmd)
	return cmd
}

func (f *featuresStudy) check() error { return atLeast("runs", f.runs, 1) }

func (f *featuresStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := f.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	s.noWeight = true
	var shown progress
	run := 0
	show := func(p train.Progress) {
		if shown == nil || p.Batch == 1 { // another run
			run++
			prefix := ""
			if f.runs > 1 {
				prefix = fmt.Sprintf("run %d of %d: ", run, f.runs)
			}
			shown = newProgress(cmd.ErrOrStderr(), false, prefix)
		}
		shown.show(p)
	}
	t, err := study.FeaturesAlone{Data: s.data, Runs: f.runs, Options: train.Options{Seed: f.seed, Progress: show}}.Run(cmd.Context())
	if shown != nil {
		shown.finish()
	}
	if err != nil {
		return err
	}
	return f.finish(cmd, s, "features", t)
}
