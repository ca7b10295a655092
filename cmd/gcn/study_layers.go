package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gcn-layerwise/gcn/run"
	"github.com/gcn-layerwise/gcn/study"
)

func newStudyAssumptionCommand() *cobra.Command {
	var o struct {
		studyOptions
		Batches int    `json:"batches" default:"500" range:"[0," help:"mini-batches Q for ‖QP^[i]‖; 0: leave it out"`
		Points  int    `json:"points" default:"1000" range:"[1," help:"points of each scatter plot"`
		Nodes   string `json:"nodes" default:"all" choice:"all|train" help:"nodes to regress over: all, or train"`
	}
	return newStudy("assumption", &o, func(ctx context.Context, s *subject) (_ study.Table, err error) {
		what := study.Assumption{
			Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train,
			Batches: cmp.Or(o.Batches, -1), Batch: o.Batch, Points: o.Points, Seed: o.Seed,
			Progress: everySeconds(s.stderr, "batches"),
		}
		if o.Nodes == "train" {
			what.Within = s.data.Split.Train
		}
		if what.Layers, err = o.norms(ctx, s); err != nil {
			return nil, err
		}
		return what.Run(ctx)
	})
}

func newStudyNormsCommand() *cobra.Command {
	var o struct {
		studyOptions
		Batches int `json:"batches" default:"100" range:"[1," help:"mini-batches Q for C1 and the moment ratio"`
		Bins    int `json:"bins" default:"60" range:"[1," help:"bars of each histogram"`
	}
	return newStudy("norms", &o, func(ctx context.Context, s *subject) (_ study.Table, err error) {
		what := study.Norms{
			Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Batches: o.Batches, Batch: o.Batch, Bins: o.Bins, Seed: o.Seed,
			Progress: everySeconds(s.stderr, "batches"),
		}
		if what.Layers, err = o.norms(ctx, s); err != nil {
			return nil, err
		}
		return what.Run(ctx)
	})
}

func newStudyErrorCommand() *cobra.Command {
	var e struct {
		studyOptions
		Layer   int            `json:"layer" default:"1" range:"[1," with:"run" help:"convolution to study, counted from the input; above 1 needs --run"`
		Methods contenderNames `json:"methods" arg:"NAME,..." default:"fastgcn,ladies,ladies-flat,ladies-debiased,ladies-flat-debiased" help:"sampling methods"`
		Samples []int          `json:"samples" arg:"N,..." range:"[1," help:"sample sizes, one point of the curves for each (default: the paper's)"`
		Repeats int            `json:"repeats" default:"200" range:"[2," help:"mini-batches"`
		Draws   int            `json:"draws" default:"2" range:"[2," help:"draws from each mini-batch; two are enough to separate bias and variance"`
	}
	return newStudy("approx-error", &e, func(ctx context.Context, s *subject) (_ study.Table, err error) {
		what := study.ApproxError{
			Laplacian: s.data.Laplacian(), Nodes: s.data.Split.Train, Sizes: e.Samples,
			Batch: e.Batch, Repeats: e.Repeats, Draws: e.Draws, Seed: e.Seed,
			Progress: everySeconds(s.stderr, "mini-batches"),
		}
		if what.Methods, err = study.Contenders(e.Methods, what.Laplacian, what.Nodes); err != nil {
			return nil, err
		}
		if what.Product, err = e.product(ctx, s, e.Layer); err != nil {
			return nil, err
		}
		return what.Run(ctx)
	})
}

// contenderNames are names that study.ContenderByName knows, separated by commas.
type contenderNames []string

// Values returns the words that are allowed.
func (contenderNames) Values() []string {
	names := slices.DeleteFunc(run.MethodNames(), study.SamplesChange)
	for _, name := range study.LayerWiseMethods() {
		if study.CountsPopulation(name) {
			names = append(names, name+study.NodesSuffix)
		}
	}
	return names
}
