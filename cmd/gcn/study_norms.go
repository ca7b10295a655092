package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// normsStudy is one execution of "gcn study norms".
type normsStudy struct {
	studyOptions
	batches, bins int
}

func newStudyNormsCommand() *cobra.Command {
	n := new(normsStudy)
	cmd := &cobra.Command{
		Use:   "norms",
		Short: "Draw histograms of ‖P^[i]‖ and ‖(HW)_[i]‖, and judge whether flat should beat LADIES",
		Long: `Draw histograms of the column norms of P and the row norms of HW, 0.1 % of the
nodes cut off at each end, and compute the constants of the paper's assumption:
C1/C2² ≥ 1 proves that flat probabilities have the lower variance. This is
sufficient, but far from necessary. The moment ratio compares the two variances
directly: below 1, flat is better.`,
		Example: `  gcn study norms --run runs/first
  gcn study norms --data synth:arxiv --json`,
		Args: noArguments,
		RunE: checked(n.check, n.do),
	}
	n.flags(cmd, false)
	fs := cmd.Flags()
	fs.IntVar(&n.batches, "batches", 100, "mini-batches Q for C1 and the moment ratio")
	fs.IntVar(&n.bins, "bins", 60, "bars of each histogram")
	return cmd
}

func (n *normsStudy) check() error {
	if err := n.studyOptions.check(); err != nil {
		return err
	}
	if err := atLeast("batches", n.batches, 1); err != nil {
		return err
	}
	return atLeast("bins", n.bins, 1)
}

func (n *normsStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := n.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	what := study.Norms{Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batches: n.batches, Batch: n.batch, Bins: n.bins, Seed: n.seed, Progress: everySeconds(cmd.ErrOrStderr(), "batches")}
	if what.Layers, err = n.norms(cmd.Context(), s); err != nil {
		return err
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return n.finish(cmd, s, "norms", t, func(w io.Writer) error { return printNorms(w, t) })
}

func printNorms(w io.Writer, t *study.NormsTable) error {
	table := newTable(true)
	table.row("layer", "C1", "C2", "C1/C2²", "C2, tails cut", "C1/C2²", "moment ratio", "")
	for _, r := range t.Rows {
		table.row(r.Layer, fourDigits(r.C1), fourDigits(float64(r.C2)), fmt.Sprintf("%.2g", r.Ratio), fourDigits(float64(r.C2Cut)),
			fmt.Sprintf("%.2g", r.RatioCut), fmt.Sprintf("%.3f", r.MomentRatio), "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	for _, r := range t.Rows {
		if err := printLine(w, "%s: %s", r.Layer, normsVerdict(r)); err != nil {
			return err
		}
	}
	return nil
}

// normsVerdict explains a row: which probabilities have the lower variance.
func normsVerdict(r study.NormsRow) string {
	assumption := "the paper's assumption does not hold, so it proves nothing"
	if r.Holds {
		assumption = "the paper's assumption holds"
	}
	if math.IsNaN(r.MomentRatio) {
		return assumption + "; the second moments are 0 or not numbers, and tell nothing"
	}
	if math.Abs(r.MomentRatio-1) < 0.005 {
		return assumption + "; flat probabilities and LADIES have equal second moments, to within half a per cent"
	}
	if r.FlatBetter {
		return fmt.Sprintf("%s; flat probabilities have the lower second moment, %.0f %% below LADIES", assumption, 100*(1-r.MomentRatio))
	}
	return fmt.Sprintf("%s; LADIES has the lower second moment, flat is %.0f %% above", assumption, 100*math.Abs(r.MomentRatio-1))
}
