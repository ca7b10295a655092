package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// assumptionStudy are the options of "gcn study assumption".
type assumptionStudy struct {
	studyOptions
	Batches int    `json:"batches" default:"500" range:"[0," help:"mini-batches Q for ‖QP^[i]‖; 0: leave it out"`
	Points  int    `json:"points" default:"1000" range:"[1," help:"points of each scatter plot"`
	Nodes   string `json:"nodes" default:"all" choice:"all|train" help:"nodes to regress over: all, or train"`
}

func newStudyAssumptionCommand() *cobra.Command {
	a := new(assumptionStudy)
	return newCommand(&cobra.Command{
		Use:   "assumption",
		Short: "Regress ‖(HW)_[i]‖ on ‖P^[i]‖ and ‖QP^[i]‖, to test an assumption of FastGCN and LADIES",
		Long: `Regress the row norms of HW on the column norms of P and of QP, for every layer
of a trained model, and the column norms on the row norms. FastGCN and LADIES assume
that they are proportional: a slope above 0 and an R² near 1.`,
		Example: `  gcn study assumption --run runs/first
  gcn study assumption --data synth:demo --json`,
		RunE: a.do,
	}, a)
}

func (a *assumptionStudy) do(cmd *cobra.Command, _ []string) error {
	return a.study(cmd, "assumption", func(s *subject) (_ study.Shown, err error) {
		what := study.Assumption{
			Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train,
			Batches: cmp.Or(a.Batches, -1), Batch: a.Batch, Points: a.Points, Seed: a.Seed,
			Progress: everySeconds(cmd.ErrOrStderr(), "batches"),
		}
		if a.Nodes == "train" {
			what.Within = s.data.Split.Train
		}
		if what.Layers, err = a.norms(cmd.Context(), s); err != nil {
			return nil, err
		}
		return what.Run(cmd.Context())
	})
}
