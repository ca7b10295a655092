package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// varianceStudy are the options of "gcn study variance".
type varianceStudy struct {
	factorOptions
	Repeats int `json:"repeats" default:"20000" range:"[2," help:"draws, where moments are estimated"`
	Watch   int `json:"watch" default:"32" range:"[2," help:"watched candidates, spread over the probabilities"`
	pilotOptions
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
draws.

With --ages the table also has the error of the layer's output over ‖QPHW‖, for the
second convolution of a model that the study trains: without a control, and with
histories of each age (see gcn study approx-error).`,
		Example: `  gcn study variance --weights 0.5,3,1,2,0.25 --samples 1,2,3,4
  gcn study variance --data synth:arxiv --samples 512,1024
  gcn study variance --data synth:demo --squared --json
  gcn study variance --data synth:demo --samples 512 --ages 0,10,50`,
		RunE: v.do,
	}, v)
}

func (v *varianceStudy) do(cmd *cobra.Command, _ []string) error {
	if err := v.check(); err != nil {
		return err
	}
	what := study.Variance{Watch: v.Watch, Repeats: v.Repeats, Seed: v.Seed, Progress: everySeconds(cmd.ErrOrStderr(), "rows")}
	s, err := v.candidates(cmd.Context(), &what.Weights, &what.Sizes)
	if err != nil {
		return err
	}
	if s.data != nil {
		what.Estimators = study.Estimators(s.data.Nodes())
	}
	if v.Ages != nil {
		const repeats = 50
		output := &study.ApproxError{Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batch: v.Batch, Repeats: repeats, Seed: v.Seed}
		if output.Product, output.Histories, err = v.products(cmd.Context(), s, &v.studyOptions, v.Ages); err != nil {
			return err
		}
		what.Output, what.Importance = output, samplers.LADIES{Flat: !v.Squared}
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return v.finish(cmd, s, "variance", t)
}
