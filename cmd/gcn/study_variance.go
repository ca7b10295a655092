package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// varianceStudy are the options of "gcn study variance".
type varianceStudy struct {
	factorOptions
	Repeats int `json:"repeats" default:"20000" range:"[2," help:"draws, where moments are estimated"`
	Watch   int `json:"watch" default:"32" range:"[2," help:"watched candidates, spread over the probabilities"`
}

func newStudyVarianceCommand() *cobra.Command {
	v := new(varianceStudy)
	return newCommand(&cobra.Command{
		Use:   "variance",
		Short: "Compute variance and covariance of the factors β of a layer, for each draw and weight",
		Long: `Compute mean, variance and covariance of the factors β that each draw and weight
gives the candidates of a layer, and the bounds of the paper's theorem,
Var ≤ (1/p − 1)/s and |Cov| ≤ 1/s. For few candidates, as in --weights, the moments
are exact. For the candidates of a mini-batch they are estimated from repeated
draws.`,
		Example: `  gcn study variance --weights 0.5,3,1,2,0.25 --samples 1,2,3,4
  gcn study variance --data synth:arxiv --samples 512,1024
  gcn study variance --data synth:demo --squared --json`,
		RunE: v.do,
	}, v)
}

func (v *varianceStudy) do(cmd *cobra.Command, _ []string) error {
	what := study.Variance{Watch: v.Watch, Repeats: v.Repeats, Seed: v.Seed, Progress: everySeconds(cmd.ErrOrStderr(), "rows")}
	s, err := v.candidates(cmd.Context(), &what.Weights, &what.Sizes)
	if err != nil {
		return err
	}
	if s.data != nil {
		what.Estimators = study.Estimators(s.data.Nodes())
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return v.finish(cmd, s, "variance", t)
}
