package main

import (
	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// normsStudy are the options of "gcn study norms".
type normsStudy struct {
	studyOptions
	Batches int `json:"batches" default:"100" range:"[1," help:"mini-batches Q for C1 and the moment ratio"`
	Bins    int `json:"bins" default:"60" range:"[1," help:"bars of each histogram"`
}

func newStudyNormsCommand() *cobra.Command {
	n := new(normsStudy)
	return newCommand(&cobra.Command{
		Use:   "norms",
		Short: "Draw histograms of ‖P^[i]‖ and ‖(HW)_[i]‖, and judge whether flat should beat LADIES",
		Long: `Draw histograms of the column norms of P and the row norms of HW, 0.1 % of the
nodes cut off at each end, and compute the constants of the paper's assumption:
C1/C2² ≥ 1 proves that flat probabilities have the lower variance. This is
sufficient, but far from necessary. The moment ratio compares the two variances
directly: below 1, flat is better.`,
		Example: `  gcn study norms --run runs/first
  gcn study norms --data synth:arxiv --json`,
		RunE: n.do,
	}, n)
}

func (n *normsStudy) do(cmd *cobra.Command, _ []string) error {
	return n.study(cmd, "norms", func(s *subject) (_ study.Shown, err error) {
		what := study.Norms{Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batches: n.Batches, Batch: n.Batch, Bins: n.Bins, Seed: n.Seed, Progress: everySeconds(cmd.ErrOrStderr(), "batches")}
		if what.Layers, err = n.norms(cmd.Context(), s); err != nil {
			return nil, err
		}
		return what.Run(cmd.Context())
	})
}
