package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

// assumptionStudy is one execution of "gcn study assumption".
type assumptionStudy struct {
	studyOptions
	batches, points int
	nodes           string
}

func newStudyAssumptionCommand() *cobra.Command {
	a := new(assumptionStudy)
	cmd := &cobra.Command{
		Use:   "assumption",
		Short: "Regress ‖(HW)_[i]‖ on ‖P^[i]‖ and ‖QP^[i]‖, to test an assumption of FastGCN and LADIES",
		Long: `Regress the row norms of HW on the column norms of P and of QP, for every layer
of a trained model, and the column norms on the row norms. FastGCN and LADIES assume
that they are proportional: a slope above 0 and an R² near 1.`,
		Example: `  gcn study assumption --run runs/first
  gcn study assumption --data synth:demo --json`,
		Args: noArguments,
		RunE: checked(a.check, a.do),
	}
	a.flags(cmd, false)
	fs := cmd.Flags()
	fs.IntVar(&a.batches, "batches", 500, "mini-batches Q for ‖QP^[i]‖; 0: leave it out")
	fs.IntVar(&a.points, "points", 1000, "points of each scatter plot")
	fs.StringVar(&a.nodes, "nodes", "all", "nodes to regress over: all, or train")
	return cmd
}

func (a *assumptionStudy) check() error {
	return cmp.Or(a.studyOptions.check(), atLeast("batches", a.batches, 0), atLeast("points", a.points, 1), oneOf("nodes", a.nodes, []string{"all", "train"}))
}

func (a *assumptionStudy) do(cmd *cobra.Command, _ []string) error {
	s, err := a.open(cmd.Context(), cmd.Flags())
	if err != nil {
		return err
	}
	what := study.Assumption{
		Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train,
		Batches: a.batches, Batch: a.batch, Points: a.points, Seed: a.seed,
		Progress: everySeconds(cmd.ErrOrStderr(), "batches"),
	}
	if a.batches == 0 {
		what.Batches = -1
	}
	if a.nodes == "train" {
		what.Within = s.data.Split.Train
	}
	if what.Layers, err = a.norms(cmd.Context(), s); err != nil {
		return err
	}
	t, err := what.Run(cmd.Context())
	if err != nil {
		return err
	}
	return a.finish(cmd, s, "assumption", t)
}
