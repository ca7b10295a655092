package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/study"
)

func newStudyAssumptionCommand() *cobra.Command {
	var o studyOptions
	var batches, points int
	var nodes string
	cmd := &cobra.Command{
		Use:   "assumption",
		Short: "Regress ‖(HW)_[i]‖ on ‖P^[i]‖ and ‖QP^[i]‖, what FastGCN and LADIES assume",
		Long: `Regress the row norms of HW on the column norms of P and of QP, for every layer
of a trained model, and the other way round. FastGCN and LADIES assume the two to
be proportional: a slope above 0 and an R² near 1.`,
		Example: `  gcn study assumption --run runs/first
  gcn study assumption --data synth:demo --json`,
		Args: noArguments,
	}
	o.flags(cmd, false)
	fs := cmd.Flags()
	fs.IntVar(&batches, "batches", 500, "mini-batches Q for ‖QP^[i]‖; 0: leave it out")
	fs.IntVar(&points, "points", 1000, "points of each scatter plot")
	fs.StringVar(&nodes, "nodes", "all", "nodes to regress over: `all`, or train")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := atLeast("batches", batches, 0); err != nil {
			return err
		}
		if err := atLeast("points", points, 1); err != nil {
			return err
		}
		if err := oneOf("nodes", nodes, []string{"all", "train"}); err != nil {
			return err
		}
		s, err := o.open(cmd.Context(), fs)
		if err != nil {
			return err
		}
		a := study.Assumption{
			Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train,
			Batches: batches, Batch: o.batch, Points: points, Seed: o.seed,
		}
		if batches == 0 {
			a.Batches = -1
		}
		if nodes == "train" {
			a.Within = s.data.Split.Train
		}
		if a.Layers, err = o.norms(cmd.Context(), s); err != nil {
			return err
		}
		t, err := a.Run(cmd.Context())
		if err != nil {
			return err
		}
		return o.finish(cmd, s, "assumption", t, func(w io.Writer) error { return printAssumption(w, t) })
	}
	return cmd
}

func printAssumption(w io.Writer, t *study.AssumptionTable) error {
	table := newTable(true)
	table.row("layer", "y", "on x", "pairs", "β0", "± se", "β1", "± se", "R²", "")
	for _, r := range t.Rows {
		table.row(r.Layer, r.Response, r.On, r.N, shortly(r.Intercept), fmt.Sprintf("%.2g", r.InterceptSE),
			shortly(r.Slope), fmt.Sprintf("%.2g", r.SlopeSE), fmt.Sprintf("%.4f", r.R2), "")
	}
	return table.print(w)
}

func newStudyNormsCommand() *cobra.Command {
	var o studyOptions
	var batches, bins int
	cmd := &cobra.Command{
		Use:   "norms",
		Short: "Draw histograms of ‖P^[i]‖ and ‖(HW)_[i]‖, and judge whether flat should beat LADIES",
		Long: `Draw histograms of the column norms of P and the row norms of HW, 0.1 % of the
nodes cut off at each end, and compute the constants of the paper's assumption:
C1/C2² ≥ 1 proves that flat probabilities have the lower variance. It is
sufficient, far from necessary; the moment ratio compares the two variances
themselves: below 1 flat is better.`,
		Example: `  gcn study norms --run runs/first
  gcn study norms --data synth:arxiv --json`,
		Args: noArguments,
	}
	o.flags(cmd, false)
	fs := cmd.Flags()
	fs.IntVar(&batches, "batches", 100, "mini-batches Q for C1 and the moment ratio")
	fs.IntVar(&bins, "bins", 60, "bars of each histogram")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.check(); err != nil {
			return err
		}
		if err := atLeast("batches", batches, 1); err != nil {
			return err
		}
		if err := atLeast("bins", bins, 1); err != nil {
			return err
		}
		s, err := o.open(cmd.Context(), fs)
		if err != nil {
			return err
		}
		n := study.Norms{Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batches: batches, Batch: o.batch, Bins: bins, Seed: o.seed}
		if n.Layers, err = o.norms(cmd.Context(), s); err != nil {
			return err
		}
		t, err := n.Run(cmd.Context())
		if err != nil {
			return err
		}
		return o.finish(cmd, s, "norms", t, func(w io.Writer) error { return printNorms(w, t) })
	}
	return cmd
}

func printNorms(w io.Writer, t *study.NormsTable) error {
	table := newTable(true)
	table.row("layer", "C1", "C2", "C1/C2²", "C2, tails cut", "C1/C2²", "moment ratio", "")
	for _, r := range t.Rows {
		table.row(r.Layer, shortly(r.C1), shortly(float64(r.C2)), fmt.Sprintf("%.2g", r.Ratio), shortly(float64(r.C2Cut)),
			fmt.Sprintf("%.2g", r.RatioCut), fmt.Sprintf("%.3f", r.MomentRatio), "")
	}
	if err := table.print(w); err != nil {
		return err
	}
	for _, r := range t.Rows {
		if _, err := fmt.Fprintf(w, "%s: %s\n", r.Layer, normsVerdict(r)); err != nil {
			return err
		}
	}
	return nil
}

// normsVerdict says in words what a row means for flat probabilities.
func normsVerdict(r study.NormsRow) string {
	assumption := "the paper's assumption does not hold, so it proves nothing"
	if r.Holds {
		assumption = "the paper's assumption holds"
	}
	if r.FlatBetter {
		return fmt.Sprintf("%s; flat probabilities have the lower second moment, %.0f %% below LADIES", assumption, 100*(1-r.MomentRatio))
	}
	return fmt.Sprintf("%s; LADIES has the lower second moment, flat is %.0f %% above", assumption, 100*math.Abs(r.MomentRatio-1))
}
