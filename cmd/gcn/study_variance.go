package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gcn-layerwise/gcn/samplers"
	"github.com/gcn-layerwise/gcn/study"
)

// varianceStudy is one execution of "gcn study variance".
type varianceStudy struct {
	studyOptions
	pilotOptions
	fs             *pflag.FlagSet
	weights        candidateWeights
	sizes          intList
	squared        bool
	repeats, watch int
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
	v.studyOptions.flags(cmd, false)
	fs := cmd.Flags()
	fs.Var(&v.weights, "weights", weightsUsage)
	fs.Var(&v.sizes, "samples", "numbers of draws (default with --weights: all possible ones; else 256,512,1024)")
	fs.BoolVar(&v.squared, "squared", false, "probabilities ∝ ‖QP^[i]‖², as in LADIES, instead of ‖QP^[i]‖")
	fs.IntVar(&v.repeats, "repeats", 20_000, "draws, if moments are estimated")
	fs.IntVar(&v.watch, "watch", 32, "watched candidates, spread over the probabilities")
	v.pilotOptions.flags(cmd)
	v.fs = fs
	return cmd
}

func (v *varianceStudy) check() error {
	if err := v.studyOptions.check(); err != nil {
		return err
	}
	if err := v.pilotOptions.check(v.fs, &v.studyOptions); err != nil {
		return err
	}
	if v.given() && v.weights != "" {
		return usagef("--ages trains a model: it needs --data, not --weights")
	}
	if err := atLeast("repeats", v.repeats, 2); err != nil {
		return err
	}
	if err := atLeast("watch", v.watch, 2); err != nil {
		return err
	}
	return v.sizes.check()
}

func (v *varianceStudy) do(cmd *cobra.Command, _ []string) error {
	what := study.Variance{Watch: v.watch, Repeats: v.repeats, Seed: v.seed, Progress: everySeconds(cmd.ErrOrStderr(), "rows")}
	s, err := v.candidates(cmd, v.weights, v.squared, &what.Weights)
	if err != nil {
		return err
	}
	if s.data != nil {
		what.Estimators = study.Estimators(s.data.Nodes())
	}
	what.Sizes = defaultDraws(v.sizes, len(what.Weights), s.data == nil && len(what.Weights) <= fewCandidates)
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
	return v.finish(cmd, s, "variance", t, func(w io.Writer) error { return printVariance(w, t) })
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

// fewCandidates is the largest number of candidates of --weights for which every number
// of draws is studied by default.
const fewCandidates = 16

// defaultDraws returns the numbers of draws to study: those in sizes that the
// candidates allow, or all possible ones.
func defaultDraws(sizes []int, candidates int, all bool) []int {
	if len(sizes) == 0 && all {
		for s := 1; s <= candidates; s++ {
			sizes = append(sizes, s)
		}
	}
	if len(sizes) == 0 {
		sizes = []int{256, 512, 1024}
	}
	var possible []int
	for _, s := range sizes {
		if s <= candidates {
			possible = append(possible, s)
		}
	}
	if len(possible) == 0 {
		possible = []int{candidates}
	}
	return possible
}

func printVariance(w io.Writer, t *study.VarianceTable) error {
	table := newTable(true)
	ages := t.Ages()
	header := []any{"draw, weight", "draws", "bias", "mean Var", "mean E(β−1)²", "Var/bound", "Cov/bound", "in bounds"}
	for _, age := range ages {
		if age < 0 {
			header = append(header, "error")
		} else {
			header = append(header, fmt.Sprintf("age %d", age))
		}
	}
	table.row(append(header, "")...)
	for _, r := range t.Rows {
		within := "yes"
		if !r.WithinTheorem {
			within = "no"
		}
		cov := fmt.Sprintf("%.3f", r.CovOverBound)
		if !r.Exact {
			cov = "(noise)"
		}
		row := []any{r.Estimator, r.Samples, fmt.Sprintf("%.2g", r.Bias), fourDigits(r.MeanVar), fourDigits(r.MeanSquare),
			fmt.Sprintf("%.3f", r.VarOverBound), cov, within}
		for k := range ages {
			text := "(biased)"
			if k < len(r.Output) {
				text = fmt.Sprintf("%.3f", r.Output[k].Relative)
			}
			row = append(row, text)
		}
		table.row(append(row, "")...)
	}
	if err := table.print(w); err != nil {
		return err
	}
	how := "exact, by enumeration"
	for _, r := range t.Rows {
		if !r.Exact {
			how = fmt.Sprintf("moments that are not exact are from %d draws", t.Repeats)
		}
	}
	return printLine(w, "%d candidates; %s; largest ratios over the watched candidates", t.Candidates, how)
}
