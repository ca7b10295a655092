package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// theoremStudy is one execution of "gcn study theorem".
type theoremStudy struct {
	studyOptions
	weights             candidateWeights
	sizes               intList
	populations         wordList
	squared             bool
	repeats, watch      int
	batches, components int
}

func newStudyTheoremCommand() *cobra.Command {
	o := &theoremStudy{populations: wordList{populationCandidates, populationInfinite}}
	cmd := &cobra.Command{
		Use:   "theorem",
		Short: "Compare the paper's statements on variance with simulation, claim by claim",
		Long: `Compute predicted values of the paper's statements on variance, and measure them: by
enumeration for few candidates, else by simulation. A simulated value agrees if it is
within 5 standard errors, for every candidate watched.

For the given weights: mean, variance and covariance of the factors β by the theorem's
recursion, corrected and as printed, which has a slip; the theorem's bounds, which it
proves for n = ∞; and the finite population correction.

With --data, also: the variance of approximate products in closed form, for draws with
replacement; the bound of Drineas, Kannan and Mahoney; and the remark on low rank.`,
		Example: `  gcn study theorem --weights 0.5,3,1,2,0.25 --samples 1,2,3,4
  gcn study theorem --weights zipf:1:2000 --samples 64,512 --population candidates,inf,100000
  gcn study theorem --data synth:arxiv --samples 512`,
		Args: noArguments,
		RunE: checked(o.check, o.do),
	}
	o.flags(cmd, true)
	fs := cmd.Flags()
	fs.Var(&o.weights, "weights", weightsUsage)
	fs.Var(&o.sizes, "samples", "numbers of draws (default with few --weights: all possible ones; else 256,512,1024)")
	fs.Var(&o.populations, "population", "n of the debiased weights: numbers, candidates, or inf for α = 1/k as in the theorem's proof")
	fs.BoolVar(&o.squared, "squared", false, "with --data: probabilities ∝ ‖QP^[i]‖², as in LADIES, instead of ‖QP^[i]‖")
	fs.IntVar(&o.repeats, "repeats", 20_000, "simulated draws")
	fs.IntVar(&o.watch, "watch", 16, "watched candidates, spread over the probabilities")
	fs.IntVar(&o.batches, "batches", 100, "with --data: mini-batches Q")
	fs.IntVar(&o.components, "components", 8, "with --data: principal components in the claims on low rank")
	return cmd
}

// populationInfinite is the n of α = 1/k.
const populationInfinite = "inf"

func (o *theoremStudy) check() error {
	if err := o.studyOptions.check(); err != nil {
		return err
	}
	for _, c := range []struct {
		name         string
		value, least int
	}{{"repeats", o.repeats, 200}, {"watch", o.watch, 1}, {"batches", o.batches, 2}, {"components", o.components, 1}} {
		if err := atLeast(c.name, c.value, c.least); err != nil {
			return err
		}
	}
	if _, err := o.parsePopulations(0); err != nil {
		return err
	}
	return o.sizes.check()
}

// parsePopulations returns the n's of a number of candidates.
func (o *theoremStudy) parsePopulations(candidates int) ([]float64, error) {
	var all []float64
	for _, word := range o.populations {
		switch word {
		case populationCandidates:
			all = append(all, float64(candidates))
			continue
		case populationInfinite:
			all = append(all, math.Inf(1))
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, usagef("--population %q: want a positive whole number, %s or %s", word, populationCandidates, populationInfinite)
		}
		if n < candidates {
			return nil, usagef("--population %d: there are %d candidates, want at least as many", n, candidates)
		}
		all = append(all, float64(n))
	}
	return all, nil
}

func (o *theoremStudy) do(cmd *cobra.Command, _ []string) error {
	what := study.Claims{Watch: o.watch, Repeats: o.repeats, Seed: o.seed, Batch: o.batch, Batches: o.batches, Rank: o.components, Progress: everySeconds(cmd.ErrOrStderr(), "sample sizes")}
	s, err := o.candidates(cmd, o.weights, o.squared, &what.Weights)
	if err != nil {
		return err
	}
	if what.Populations, err = o.parsePopulations(len(what.Weights)); err != nil {
		return err
	}
	what.Sizes = defaultDraws(o.sizes, len(what.Weights), s.data == nil && len(what.Weights) <= fewCandidates)
	if s.data != nil {
		what.Laplacian, what.Nodes = s.data.Laplacian(), s.data.Split.Train
		if what.Product, err = o.product(cmd.Context(), s); err != nil {
			return err
		}
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return o.finish(cmd, s, "theorem", t, func(w io.Writer) error { return printClaims(w, t) })
}

func printClaims(w io.Writer, t *study.ClaimTable) error {
	table := newTable(true)
	table.row("claim", "case", "draws", "predicted", "", "measured", "± se", "worst, se", "agrees", "")
	for _, r := range t.Rows {
		agrees := "yes"
		if !r.Agrees {
			agrees = "NO"
		}
		se, worst := fmt.Sprintf("%.2g", float64(r.SE)), ""
		if r.Exact {
			se = "exact"
		}
		if r.Deviation != 0 {
			worst = fmt.Sprintf("%.2g", float64(r.Deviation))
		}
		// The relation of the measured value to the predicted one: the claim's, turned around.
		relation := map[string]string{"=": "=", "≤": "≥", "≥": "≤"}[r.Relation]
		table.row(r.Claim, r.Case, r.Samples, fourDigits(float64(r.Predicted)), relation, fourDigits(float64(r.Measured)), se, worst, agrees, "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	from := fmt.Sprintf("%d draws", t.Repeats)
	if t.Batches > 0 {
		from += fmt.Sprintf(", or %d mini-batches", t.Batches)
	}
	return printLine(w, "%d candidates; values that are not exact are from %s; the recursion as printed has a slip", t.Candidates, from)
}
