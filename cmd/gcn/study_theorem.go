package main

import (
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// theoremStudy are the options of "gcn study theorem".
type theoremStudy struct {
	factorOptions
	Repeats    int      `json:"repeats" default:"20000" range:"[200," help:"draws, where moments are estimated"`
	Watch      int      `json:"watch" default:"16" range:"[1," help:"watched candidates, spread over the probabilities"`
	Population []string `json:"population" default:"candidates,inf" help:"n of the debiased weights: numbers, candidates, or inf for α = 1/k as in the theorem's proof"`
}

func newStudyTheoremCommand() *cobra.Command {
	o := new(theoremStudy)
	return newCommand(&cobra.Command{
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
		RunE: o.do,
	}, o)
}

// parsePopulations returns the n's of a number of candidates.
func (o *theoremStudy) parsePopulations(candidates int) ([]float64, error) {
	var all []float64
	for _, word := range o.Population {
		n, err := strconv.Atoi(word)
		switch {
		case word == "candidates":
			all = append(all, float64(candidates))
		case word == "inf": // α = 1/k
			all = append(all, math.Inf(1))
		case err != nil || n < 1:
			return nil, usagef("--population %q: want a positive whole number, candidates or inf", word)
		case n < candidates:
			return nil, usagef("--population %d: there are %d candidates, want at least as many", n, candidates)
		default:
			all = append(all, float64(n))
		}
	}
	return all, nil
}

func (o *theoremStudy) do(cmd *cobra.Command, _ []string) error {
	if _, err := o.parsePopulations(0); err != nil { // before the data are read
		return err
	}
	what := study.Claims{Watch: o.Watch, Repeats: o.Repeats, Seed: o.Seed, Progress: everySeconds(cmd.ErrOrStderr(), "sample sizes")}
	s, err := o.candidates(cmd.Context(), &what.Weights, &what.Sizes)
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
