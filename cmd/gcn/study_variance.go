package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// varianceStudy is one execution of "gcn study variance".
type varianceStudy struct {
	factorOptions
	pilotOptions
	fs *pflag.FlagSet
}

func newStudyVarianceCommand() *cobra.Command {
	v := new(varianceStudy)
	cmd := &cobra.Command{
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
		Args: noArguments,
		RunE: checked(v.check, v.do),
	}
	v.factorOptions.flags(cmd, 32)
	v.pilotOptions.flags(cmd)
	v.fs = cmd.Flags()
	return cmd
}

func (v *varianceStudy) check() error {
	if err := cmp.Or(v.factorOptions.check(), v.pilotOptions.check(v.fs, &v.studyOptions)); err != nil {
		return err
	}
	if v.given() && v.weights != "" {
		return usagef("--ages trains a model: it needs --data, not --weights")
	}
	return cmp.Or(atLeast("repeats", v.repeats, 2), atLeast("watch", v.watch, 2))
}

func (v *varianceStudy) do(cmd *cobra.Command, _ []string) error {
	what := study.Variance{Watch: v.watch, Repeats: v.repeats, Seed: v.seed, Progress: everySeconds(cmd.ErrOrStderr(), "rows")}
	s, err := v.candidates(cmd, &what.Weights, &what.Sizes)
	if err != nil {
		return err
	}
	if s.data != nil {
		what.Estimators = study.Estimators(s.data.Nodes())
	}
	if v.given() {
		if what.Output, err = v.output(cmd.Context(), s); err != nil {
			return err
		}
		what.Importance = samplers.LADIES{Flat: !v.squared}
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return v.finish(cmd, s, "variance", t)
}

// output returns the measurement of the layer's output.
func (v *varianceStudy) output(ctx context.Context, s *subject) (*study.ApproxError, error) {
	const repeats = 50
	hw, histories, err := v.products(ctx, s, &v.studyOptions)
	if err != nil {
		return nil, err
	}
	return &study.ApproxError{
		Laplacian: s.data.Laplacian(), Product: hw, Histories: histories, Nodes: s.data.Split.Train,
		Batch: v.batch, Repeats: repeats, Seed: v.seed,
	}, nil
}
