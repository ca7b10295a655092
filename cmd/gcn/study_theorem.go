package main

import (
	"cmp"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// theoremStudy is one execution of "gcn study theorem".
type theoremStudy struct {
	factorOptions
	populations wordList
}

func newStudyTheoremCommand() *cobra.Command {
	o := &theoremStudy{populations: wordList{"candidates", populationInfinite}}
	cmd := &cobra.Command{
		Use:   "theorem",
		Short: "Compare the paper's statements on variance with simulation, claim by claim",
		Long: `Compute predicted values of the paper's statements on variance, and measure them: by
enumeration for few candidates, else by simulation. A simulated value agrees if it is
within 5 standard errors, for every candidate watched.

For the given weights: mean, variance and covariance of the factors β by the theorem's
recursion, corrected and as printed, which has a slip; the theorem's bounds, which it
proves for n = ∞; and the finite population correction.`,
		Example: `  gcn study theorem --weights 0.5,3,1,2,0.25 --samples 1,2,3,4
  gcn study theorem --weights zipf:1:2000 --samples 64,512 --population candidates,inf,100000
  gcn study theorem --data synth:arxiv --samples 512`,
		Args: noArguments,
		RunE: checked(o.check, o.do),
	}
	o.flags(cmd, 16)
	cmd.Flags().Var(&o.populations, "population", "n of the debiased weights: numbers, candidates, or inf for α = 1/k as in the theorem's proof")
	return cmd
}

// populationInfinite is the n of α = 1/k.
const populationInfinite = "inf"

func (o *theoremStudy) check() error {
	_, err := o.parsePopulations(0)
	return cmp.Or(o.factorOptions.check(), atLeast("repeats", o.repeats, 200), atLeast("watch", o.watch, 1), err)
}

// parsePopulations returns the n's of a number of candidates.
func (o *theoremStudy) parsePopulations(candidates int) ([]float64, error) {
	var all []float64
	for _, word := range o.populations {
		switch word {
		case "candidates":
			all = append(all, float64(candidates))
			continue
		case populationInfinite:
			all = append(all, math.Inf(1))
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, usagef("--population %q: want a positive whole number, %s or %s", word, "candidates", populationInfinite)
		}
		if n < candidates {
			return nil, usagef("--population %d: there are %d candidates, want at least as many", n, candidates)
		}
		all = append(all, float64(n))
	}
	return all, nil
}

func (o *theoremStudy) do(cmd *cobra.Command, _ []string) error {
	what := study.Claims{Watch: o.watch, Repeats: o.repeats, Seed: o.seed, Progress: everySeconds(cmd.ErrOrStderr(), "sample sizes")}
	s, err := o.candidates(cmd, &what.Weights, &what.Sizes)
	if err != nil {
		return err
	}
	if what.Populations, err = o.parsePopulations(len(what.Weights)); err != nil {
		return err
	}
	s.noWeight = true
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return o.finish(cmd, s, "theorem", t)
}
