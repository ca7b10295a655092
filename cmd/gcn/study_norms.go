package main

import (
	"cmp"

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
	return cmp.Or(n.studyOptions.check(), atLeast("batches", n.batches, 1), atLeast("bins", n.bins, 1))
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
	return n.finish(cmd, s, "norms", t)
}
